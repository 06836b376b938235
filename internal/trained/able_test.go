package trained

import (
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/registry"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/gibbs"
)

// TestAbilities_AreThoseOfTheFamilies: messages name exactly the families that can do what is asked.
func TestAbilities_AreThoseOfTheFamilies(t *testing.T) {
	for _, family := range []string{"slds", "fusion", "dvbf", "kvae", "lstm", "static", "linear", "rslds", "trslds"} {
		resolved, err := registry.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: []string{"model.kind=" + family}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := registry.Model(resolved.Config, model.Data{NX: 2, NU: 1})
		if err != nil {
			t.Fatal(err)
		}
		var f model.Forecaster = &gibbs.Ensemble{} // before its chains are installed a sampler has no forecaster
		if _, ok := m.(*gibbs.Model); !ok {
			f = m.(model.Forecasting).NewForecaster()
		}
		var want []string
		for _, a := range []Ability{Filters, Segments, Samples, Decomposes, Smooths, Decodes, Steps, Exports} {
			if slices.Contains(a.Families, family) {
				want = append(want, a.Does)
			}
		}
		slices.Sort(want)
		if got := abilities(f); !slices.Equal(got, want) {
			t.Errorf("%s can %q, the messages say %q", family, got, want)
		}
	}
}
