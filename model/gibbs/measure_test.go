//go:build measure

package gibbs_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model/gibbs"
	"github.com/switchyard-ml/switchyard/rng"
)

// TestMeasure_FHN prints R² of k-step forecasts of the FitzHugh–Nagumo oscillator, as of Nassar et al. (2019), for five
// chains of each family:
//
//	go test -tags measure -run TestMeasure_FHN -timeout 2h -v ./model/gibbs
//
// SWEEPS and SEED change the length of the chains and the seed of the sampler.
func TestMeasure_FHN(t *testing.T) {
	schedule := gibbs.Schedule{Sweeps: 1000, BurnIn: 500, Draws: 32}
	if _, err := fmt.Sscan(os.Getenv("SWEEPS"), &schedule.Sweeps); err == nil {
		schedule.BurnIn = schedule.Sweeps / 2
	}
	seed := uint64(1)
	_, _ = fmt.Sscan(os.Getenv("SEED"), &seed)
	data := oscillator(t, 100, 400)
	horizons := []int{1, 5, 10, 20, 30}
	for _, family := range []string{"rslds", "trslds"} {
		names := gibbs.ScalarNames()
		traces := make([][][]float64, len(names))
		for chain := range uint32(5) {
			start := time.Now()
			fit, err := gibbs.NewFit(gibbs.DefaultConfig(family == "trslds"), schedule, data, rng.New(seed, rng.Noise), chain)
			if err != nil {
				t.Fatal(err)
			}
			for !fit.Done() {
				if err := fit.Step(); err != nil {
					t.Fatal(err)
				}
			}
			took := time.Since(start)
			for i := range names {
				traces[i] = append(traces[i], fit.Trace(i))
			}
			for _, rollout := range []gibbs.Rollout{gibbs.RolloutMode, gibbs.RolloutSample} {
				f, err := fit.Posterior().NewForecaster(rollout)
				if err != nil {
					t.Fatal(err)
				}
				o := eval.DefaultFHNOptions()
				o.AllStarts = rollout == gibbs.RolloutMode
				o.Window = 50
				report, err := eval.FHN(f, o)
				if err != nil {
					t.Fatal(err)
				}
				line := fmt.Sprintf("%s seed %d chain %d %-6s %4.0fs  R² ", family, seed, chain, rollout, took.Seconds())
				for _, k := range horizons {
					line += fmt.Sprintf(" %.4f", report.AtStart.Unknown.Mean[k-1])
				}
				if report.AllStarts != nil {
					line += "  all starts"
					for _, k := range horizons {
						line += fmt.Sprintf(" %.4f", report.AllStarts.Unknown.Mean[k-1])
					}
				}
				fmt.Println(line)
			}
		}
		for i, name := range names {
			c := gibbs.Converge(traces[i])
			fmt.Printf("%s %s: R̂ %.3f, effective sample size %.0f (centre), %.0f (tails)\n", family, name, c.RHat, c.Bulk, c.Tail)
		}
	}
}
