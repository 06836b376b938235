package trials

import (
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/sweep"
)

// TestParse_List: the configurations stand in their order, with keys of sections written out; what does not go together
// is refused.
func TestParse_List(t *testing.T) {
	const head = "preset: fhn/smoke\nmethod: list\n"
	f, err := Parse("own.yaml", []byte(head+"parameters: {train.steps: 5}\nconfigurations:\n- {model.kind: arhmm, model.order: 2}\n"+
		"- {model: {kind: lstm, units: 8}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Spec.List) != 2 || strings.Join(f.Spec.List[1].Arguments(), " ") != "model.kind=lstm model.units=8" {
		t.Errorf("configurations %v", f.Spec.List)
	}
	var keys []string
	for _, p := range f.Spec.Parameters {
		keys = append(keys, p.String())
	}
	if got := strings.Join(keys, "; "); got != "arhmm, lstm; 2; 8" {
		t.Errorf("parameters %s", got)
	}
	valid := func(sweep.Settings) error { return nil }
	if got := f.Spec.Sample(5, valid); len(got) != 2 {
		t.Errorf("%d configurations are tried", len(got))
	}
	for text, want := range map[string]string{
		head + "parameters: {seed: [1, 2]}":                                                             "they are tried by method: list alone",
		"preset: fhn/smoke\nmethod: grid\nconfigurations: [{seed: 1}]":                                  "they are tried by method: list alone",
		head + "configurations: [{seed: 1}]":                                                            "seeds are those of all",
		head + "configurations: [3]":                                                                    "expected keys with values",
		head + "configurations: [{model.units: [8, 16]}]":                                               "expected one value",
		head + "configurations: [{model.kind: lstm}]\nparameters: {optim.rate: {values: [1e-3, 1e-2]}}": "optim.rate has several",
	} {
		if _, err := Parse("own.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
