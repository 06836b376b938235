package trained

import (
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/config"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/arhmm"
	"github.com/switchyard-ml/switchyard/model/gibbs"
)

// TestAbilities_AreThoseOfTheFamilies: messages name exactly the families that can do what is asked.
func TestAbilities_AreThoseOfTheFamilies(t *testing.T) {
	for _, family := range []string{"slds", "fusion", "dvbf", "kvae", "lstm", "static", "linear", "rslds", "trslds", "arhmm"} {
		resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: []string{"model.kind=" + family}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := config.NewModel(resolved.Config, model.Data{NX: 2, NU: 1})
		if err != nil {
			t.Fatal(err)
		}
		var f model.Forecaster = &gibbs.Ensemble{} // before its chains are installed a sampler has no forecaster
		switch m := m.(type) {
		case *gibbs.Model:
		case *arhmm.Model:
			f = &arhmm.Forecaster{}
		default:
			f = m.(model.Forecasting).NewForecaster()
		}
		claims(t, family, f, Filters)
		claims(t, family, f, Segments)
		claims(t, family, f, Samples)
		claims(t, family, f, Decomposes)
		claims(t, family, f, Smooths)
		claims(t, family, f, Steps)
		claims(t, family, f, Exports)
		claims(t, family, f, Decodes)
	}
}

// claims checks that an ability names a family exactly if its forecaster has it.
func claims[Q any](t *testing.T, family string, f model.Forecaster, a Ability[Q]) {
	t.Helper()
	if _, ok := a.of(f); ok != slices.Contains(a.Families, family) {
		t.Errorf("%s: it can %s is %v, the message says the opposite", family, a.Does, ok)
	}
}
