package trained

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/arhmm"
	"github.com/switchyard-ml/switchyard/model/gibbs"
)

// TestAbilities_AreThoseOfTheFamilies: messages name exactly the families that can do what is asked.
func TestAbilities_AreThoseOfTheFamilies(t *testing.T) {
	variants := []string{"slds", "fusion", "dvbf", "kvae", "lstm", "static", "linear", "rslds", "trslds", "arhmm", "naive"}
	for _, s := range []string{"normal", "deterministic", "categorical"} {
		variants = append(variants, "slds model.switching="+s)
	}
	for _, variant := range variants {
		settings := strings.Fields("model.kind=" + variant)
		family := strings.TrimPrefix(settings[0], "model.kind=")
		resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: settings})
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
		claims(t, family, variant, f, Filters)
		claims(t, family, variant, f, Segments)
		claims(t, family, variant, f, Samples)
		claims(t, family, variant, f, Decomposes)
		claims(t, family, variant, f, Smooths)
		claims(t, family, variant, f, Steps)
		claims(t, family, variant, f, Exports)
		claims(t, family, variant, f, Decodes)
	}
}

// TestAbilities_AreThoseOfTheDocumentation: the table of questions lists the families that can answer.
func TestAbilities_AreThoseOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../docs/use.md")
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"`filter NAME --in FILE`": strings.Join(Filters.Families, ", ") + "; step by step: " + strings.Join(Steps.Families, ", "),
		"`smooth NAME`":           strings.Join(Smooths.Families, ", "),
		"`segment NAME`":          strings.Join(Segments.Families, ", "),
	} {
		_, row, _ := strings.Cut(string(page), "| "+command)
		row, _, _ = strings.Cut(row, "\n")
		if !strings.HasSuffix(row, "| "+want+" |") {
			t.Errorf("the row of %s ends %q, want %q", command, row, want)
		}
	}
}

// claims checks that an ability names a family exactly if its forecaster has it.
func claims[Q any](t *testing.T, family, variant string, f model.Forecaster, a Ability[Q]) {
	t.Helper()
	if _, ok := a.of(f); ok != slices.Contains(a.Families, family) {
		t.Errorf("%s: it can %s is %v, the message says the opposite", variant, a.Does, ok)
	}
}
