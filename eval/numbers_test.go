package eval

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestNumbers: one name for each number, with the horizon itself, whether the report is at hand or its JSON. What
// diverged is there, as null in JSON and as NaN in numbers.
func TestNumbers(t *testing.T) {
	r := Report{Protocol: "p", Metrics: []Metric{
		count("episodes", 3), value("r2_final", math.Inf(-1)), list("r2_drawn", []float64{0.9, math.NaN()}), list("one", []float64{4}),
		object("ratio", horizonAxis, []string{"1", "5", "10"}, []float64{0.1, 0.2, math.Inf(1)}), object("none", "label", nil, nil),
	}}
	want := map[string]float64{
		"episodes": 3, "r2_final": math.NaN(), "r2_drawn/1": 0.9, "r2_drawn/2": math.NaN(), "one/1": 4,
		"ratio/1": 0.1, "ratio/5": 0.2, "ratio/10": math.NaN(),
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadNumbers(text)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	var again Numbers
	if err := json.Unmarshal(kept, &again); err != nil {
		t.Fatal(err)
	}
	for way, got := range map[string]Numbers{"a report": r.Numbers(), "its JSON": read, "kept numbers": again} {
		if !slices.Equal(got.Names(), Numbers(want).Names()) {
			t.Errorf("%s: got %q, want %q", way, got.Names(), Numbers(want).Names())
		}
		for name, v := range want {
			if x := got.Get(name); x != v && !(math.IsNaN(x) && math.IsNaN(v)) {
				t.Errorf("%s: %s = %g, want %g", way, name, x, v)
			}
		}
	}
	if _, err := ReadNumbers([]byte(`{"metrics":{"a":"NaN"}}`)); err == nil {
		t.Error("a word is read as a number")
	}
	if empty, err := json.Marshal(Numbers(nil)); err != nil || string(empty) != "null" {
		t.Errorf("no numbers are %s, %v", empty, err)
	}
}

// TestFact knows every metric that package eval makes of a count.
func TestFact(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\b(?:count|flag)\("(\w+)"`).FindAllStringSubmatch(string(text), -1) {
			if found++; !Fact(m[1]) {
				t.Errorf("%s: the count %s is no fact", file, m[1])
			}
		}
	}
	if found < 20 || Fact("accuracy") {
		t.Errorf("%d counts; accuracy is a fact: %t", found, Fact("accuracy"))
	}
	if got := (Numbers{"prefix": 3, "episodes": 8, "steps": 9}).Asked(); got != "episodes 8, prefix 3" {
		t.Errorf("asked for %q", got)
	}
}
