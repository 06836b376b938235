package fit

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/config"
)

// table writes a CSV file of one column x over so many steps.
func table(t *testing.T, steps int, at func(t int) float64) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("t,y_x\n")
	for i := range steps {
		fmt.Fprintf(&b, "%d,%.5f\n", i, at(i))
	}
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func wave(t int) float64 { return math.Sin(float64(t)*2*math.Pi/20) + 0.1*math.Sin(float64(t*t)) }

// TestPlan_IsAFunctionOfTheRequest: the same candidates twice; more budget or more workers pay for more of them, and for
// more updates; a transform that is asked for is the only one.
func TestPlan_IsAFunctionOfTheRequest(t *testing.T) {
	path := table(t, 400, wave)
	plan := func(change func(*Request)) *Plan {
		r := &Request{
			Kinds: config.Builtin().Kinds(), Paths: []string{path}, Budget: 20 * time.Second, Workers: 1, Seed: 1,
		}
		change(r)
		p, err := r.Plan()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	same := func(*Request) {}
	p := plan(same)
	if again := plan(same); string(p.spec()) != string(again.spec()) {
		t.Errorf("two plans:\n%s\n%s", p.spec(), again.spec())
	}
	if p.facts.season != 20 || p.facts.horizon != 10 || p.Seconds > 20 || len(p.Left) == 0 {
		t.Errorf("season %d, horizon %d, %.1f s, %d left out", p.facts.season, p.facts.horizon, p.Seconds, len(p.Left))
	}
	more := plan(func(r *Request) { r.Workers = 20 })
	if len(more.Candidates) <= len(p.Candidates) || len(more.Left) > 0 || more.Seconds > 400 {
		t.Errorf("20 workers: %d candidates, %d left out, %.1f s", len(more.Candidates), len(more.Left), more.Seconds)
	}
	if !strings.Contains(string(more.spec()), `model.kind: "slds"`) {
		t.Errorf("no network among\n%s", more.spec())
	}
	logs := plan(func(r *Request) { r.Read.Transform = "diff" })
	for _, c := range logs.Candidates {
		if transform, _ := valueOf(c.Settings, "env.transform"); c.Family != "naive" && transform != "diff" {
			t.Errorf("%v", c.Settings)
		}
	}
}

// TestPlan_SaysWhatItDecides about each step from file to forecast, with what decides otherwise.
func TestPlan_SaysWhatItDecides(t *testing.T) {
	r := &Request{
		Kinds: config.Builtin().Kinds(), Paths: []string{table(t, 200, wave)}, Budget: time.Second, Workers: 1, Seed: 1,
		Settings: []string{"eval.horizon=3", "env.validation=0.2"},
	}
	p, err := r.Plan()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"observed": "x", "recordings": "1 recording", "gaps": "none", "horizon": "3 steps",
		"split": "by time: 140 steps for training, then 40 to choose by, then 20 to test the choice",
	}
	for _, d := range p.Decisions {
		if text, ok := want[d.Name]; ok && !strings.Contains(d.Value, text) {
			t.Errorf("%s: %q, want %q", d.Name, d.Value, text)
		}
		delete(want, d.Name)
	}
	if len(want) > 0 {
		t.Errorf("nothing is said of %v", want)
	}
}
