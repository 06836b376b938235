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

// TestResolve_ListWithOneNumberWrittenTwice: configurations may write a number in several ways. It is one value of the axis
// of its key; the configurations stay as they are.
func TestResolve_ListWithOneNumberWrittenTwice(t *testing.T) {
	f, _, err := readSpec("preset: fhn/smoke\nmethod: list\nconfigurations:\n- {optim.rate: 1e-3}\n- {optim.rate: 0.001, train.batch: 16}\n" +
		"- {optim.rate: 1e-2}\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Spec.Parameters[0].String(); got != "1e-3, 1e-2" {
		t.Errorf("the axis has %s", got)
	}
	if p := f.Spec.Parameters[0]; p.Coordinate("0.001") != 0.25 {
		t.Errorf("0.001 lies at %g", p.Coordinate("0.001"))
	}
	if got := strings.Join(f.Spec.List[1].Arguments(), " "); got != "optim.rate=0.001 train.batch=16" {
		t.Errorf("the second configuration is %s", got)
	}
	trial := sweep.Record{Kind: sweep.KindTrial, Trial: 1, Cohort: 1, Settings: f.Spec.List[1], Steps: []uint64{30}, Seeds: []uint64{1}}
	s, err := sweep.NewState([]sweep.Record{{Kind: sweep.KindOpen, Spec: &f.Spec}, trial})
	if err != nil {
		t.Fatal(err)
	}
	if got := (Folder{"sweeps", "s"}).Report(s).Trials[0].Settings["optim.rate"]; got != "1e-3" {
		t.Errorf("the report has %s, which is not on the axis", got)
	}
}
