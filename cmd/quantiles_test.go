package cmd

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/switchyard-ml/switchyard/trained"
)

// TestForecast_QuantilesHoldForEverySeed: another seed moves a quantile by what chance allows for so many paths, and no
// more: the share of other paths below it differs from its level by at most five standard errors.
func TestForecast_QuantilesHoldForEverySeed(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "data")
	writeTrajectories(t, data, 12)
	for family, settings := range map[string][]string{
		"slds": small, "lstm": append([]string{"model.kind=lstm", "model.hidden=8", "env.window=12"}, small[6:]...),
		"arhmm": {"model.kind=arhmm", "model.switches=2", "model.sweeps=10", "model.exchange=10", "model.chains=1", "--quiet"},
	} {
		c.must(append([]string{"train", "files", "env.files=" + data, "--name", family}, settings...)...)
		run, err := trained.Open(filepath.Join(c.dir, family), nil)
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := run.Recordings()
		if err != nil {
			t.Fatal(err)
		}
		const paths = 400
		var of [3]trained.Forecast
		for seed := range of {
			if of[seed], err = run.Forecast(list[0].Series, trained.Query{Horizon: 4, Samples: paths, Seed: uint64(seed)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, level := range []float64{0.1, 0.5, 0.9} {
			off := 5 * math.Sqrt(2*level*(1-level)/paths)
			for seed := 1; seed < len(of); seed++ {
				low, high := of[seed].Quantile(max(level-off, 1e-3)), of[seed].Quantile(min(level+off, 1-1e-3))
				for h, row := range of[0].Quantile(level) {
					for i, v := range row {
						if v < low[h][i] || v > high[h][i] {
							t.Errorf("%s, step %d: quantile %g of channel %d is %v, with seed %d between %v and %v", family, h, level, i, v, seed, low[h][i], high[h][i])
						}
					}
				}
			}
		}
		if a, b := of[0].Quantile(0.1)[3][0], of[0].Quantile(0.9)[3][0]; !(b > a) {
			t.Errorf("%s: quantiles %v and %v", family, a, b)
		}
	}
}
