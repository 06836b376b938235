package paper

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
)

// published are results that are the paper's own figures, a little apart for each seed; what the paper does
// not print is set to agree with its text.
func published(t *testing.T, size Size) *Results {
	t.Helper()
	return publishedOf(t, whole(t, size))
}

// publishedOf are the same of a plan.
func publishedOf(t *testing.T, p *Plan) *Results {
	t.Helper()
	r := &Results{Plan: p, runsDir: t.TempDir()}
	for _, trial := range p.Trials {
		byProtocol := map[string]Findings{}
		for _, name := range trial.Protocols {
			byProtocol[name] = Findings{eval.Numbers{}, Curves{}}
		}
		r.found, r.kept = append(r.found, byProtocol), append(r.kept, nil)
	}
	for _, part := range []Part{Table1, FHN, Ball, DT} {
		for _, env := range []string{"maze", "reacher", "fhn", "ball"} {
			for _, g := range r.of(part, env) {
				for seed := range p.Seeds {
					fill(r, g, seed)
				}
			}
		}
	}
	return r
}

func fill(r *Results, g *Group, seed int) {
	set := func(protocol, metric string, v float64) {
		r.found[g.trials[seed]][protocol].Numbers[metric] = v * (1 + 0.0004*float64(seed))
	}
	curve := func(protocol, column string, rows int) {
		if f, measured := r.found[g.trials[seed]][protocol]; measured {
			f.Curves[column] = upTo(rows)
		}
	}
	curve("table1", "ratio_to_static", eval.Table1Horizon)
	curve("fhn", "model_unknown", 30)
	switch g.Part {
	case Table1:
		for i, k := range eval.Table1Horizons() {
			v := 2.0
			for _, p := range eval.Table1Ratios(g.Environment) {
				if p.Key == g.Key {
					v = p.Values[i]
				}
			}
			set("table1", eval.Name("ratio_to_static", k), v)
		}
		ours := map[string]float64{"normal": 1, "concrete": 1, "concrete-32": 1}[g.Key]
		if ours > 0 || g.Key == "fusion" {
			set("velocity", "r2_z/mean", 0.92)
			set("contact", "f1_tree/mean", 0.46)
			set("contact", "f1_logistic/mean", 0.53)
			set("contact", "chance/mean", 0.21)
			set("switches", "correlation_ratio_vertical", 0.2+0.3*ours)
			set("switches", "correlation_ratio_horizontal", 0.2+0.3*ours)
		}
		if ours > 0 {
			set("latent", "correlation_ratio/elbow angle (3 rad)", 0.6)
			set("latent", "correlation_ratio/θ (rad)", 0.1)
		}
	case FHN:
		keys := map[string]int{"concrete": 0, "normal": 0, "trslds": 1, "rslds": 2}
		for i, k := range eval.FHNHorizons() {
			set("fhn", eval.Name("r2_unknown", k), eval.Paper("fhn", "fhn")[keys[g.Key]].Values[i])
		}
		linear := []float64{0.999, 0.996, 0.976, 0.94, 0.87, 0.78, 0.69, 0.6}
		for i, k := range eval.FHNHorizons() {
			set("fhn", eval.Name("r2_linear", k), linear[i])
		}
	case Ball:
		keys := map[string]int{"kvae": 1, "normal": 2, "concrete": 2}
		for i, n := range eval.PixelHorizons() {
			set("pixels", eval.Name("error", n), eval.Paper("pixels", "ball")[keys[g.Key]].Values[i])
			if g.Key == "kvae" {
				set("pixels", eval.Name("error_smoothed", n), eval.Paper("pixels", "ball")[0].Values[i])
			}
		}
	case DT:
		for _, p := range eval.Paper("dt", "maze") {
			if strings.Contains(g.Key, p.Key) || strings.Contains(g.Key, "binary") {
				set("dt", "error", p.Value(g.X))
			}
		}
	}
}

// TestClaims_HoldForThePaper: results that are the paper's own figures support its claims, but decide nothing at a size
// at which nothing is learned.
func TestClaims_HoldForThePaper(t *testing.T) {
	r := published(t, Quick)
	for _, c := range Claims() {
		if v := r.Judge(c); v.Judgement != Holds {
			t.Errorf("%s: %s (%s)", c.ID, v.Judgement, v.Detail)
		}
	}
	small := published(t, Smoke)
	for _, c := range Claims() {
		if v := small.Judge(c); v.Judgement != Undecided {
			t.Errorf("size smoke: %s %s", c.ID, v.Judgement)
		}
	}
}

// TestClaims_FailForTheOpposite: results in the opposite order contradict every claim.
func TestClaims_FailForTheOpposite(t *testing.T) {
	r := published(t, Quick)
	for i := range r.found {
		for _, f := range r.found[i] {
			n := f.Numbers
			for name, v := range n {
				if strings.HasPrefix(name, "ratio") || strings.HasPrefix(name, "error") {
					n[name] = 1 / v
				} else if !strings.HasPrefix(name, "r2_linear") {
					n[name] = 5 - 10*v
				}
			}
		}
	}
	for _, c := range Claims() {
		if v := r.Judge(c); v.Judgement != Fails {
			t.Errorf("%s: %s (%s)", c.ID, v.Judgement, v.Detail)
		}
	}
}

// TestClaims_OfPartOfTheResults: what a claim compares has to be there, and nothing else decides it.
func TestClaims_OfPartOfTheResults(t *testing.T) {
	for _, c := range []struct {
		name, claim string
		choices     []Choice
		change      func(g *Group, seed int, all map[string]Findings)
		want        Judgement
	}{
		{
			"Normal and Static alone", "best-maze",
			[]Choice{"table1/maze/normal", "table1/maze/static"},
			func(*Group, int, map[string]Findings) {}, NotMeasured,
		},
		{"a row that the paper does not have is better", "best-maze", nil, func(g *Group, _ int, all map[string]Findings) {
			if g.Key == "linear" || g.Key == "kvae" || g.Key == "bodies" {
				for name := range all["table1"].Numbers {
					all["table1"].Numbers[name] *= 1e-6
				}
			}
		}, Holds},
		{"F1 below that of calling every step a contact", "wall", nil, func(_ *Group, _ int, all map[string]Findings) {
			if n := all["contact"].Numbers; n != nil {
				n["chance/mean"] += 0.4
			}
		}, Fails},
		{"a seed diverges", "velocity", nil, func(_ *Group, seed int, all map[string]Findings) {
			if n := all["velocity"].Numbers; n != nil && seed == 0 {
				n["r2_z/mean"] = math.NaN()
			}
		}, Undecided},
		{"a seed diverges", "switch-maze", nil, func(g *Group, seed int, all map[string]Findings) {
			if g.Key == "fusion" && seed == 0 {
				all["table1"].Numbers["ratio_to_static/5"] = math.NaN()
			}
		}, Undecided},
	} {
		p, err := NewPlan(config.Builtin().Kinds(), Quick, 3, c.choices)
		if err != nil {
			t.Fatal(err)
		}
		r := publishedOf(t, p)
		for _, g := range r.of(Table1, "maze") {
			for seed, i := range g.trials {
				c.change(g, seed, r.found[i])
			}
		}
		for _, claim := range Claims() {
			if v := r.Judge(claim); claim.ID == c.claim && v.Judgement != c.want {
				t.Errorf("%s: %s is said to be %q, want %q (%s)", c.name, c.claim, v.Judgement, c.want, v.Detail)
			}
		}
	}
}

// TestClaims_LinearAtEveryHorizon: a model that is worse than a linear one 15 steps ahead is not better from 5 steps on.
func TestClaims_LinearAtEveryHorizon(t *testing.T) {
	r := published(t, Quick)
	for _, i := range r.group(FHN, "fhn", "rslds").trials {
		r.found[i]["fhn"].Numbers[eval.Name("r2_unknown", 15)] = 0.5
	}
	for _, c := range Claims() {
		if v := r.Judge(c); c.ID == "fhn-linear" && v.Judgement != Fails {
			t.Errorf("%s: %s (%s)", c.ID, v.Judgement, v.Detail)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want Judgement
	}{
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, Holds},
		{[]float64{1, 2, 3}, []float64{2.5, 5, 6}, Holds}, // the ranges overlap, neither lies within the other
		{[]float64{4, 5, 6}, []float64{1, 2, 3}, Fails},
		{[]float64{1, 9, 3}, []float64{4, 5, 6}, Undecided},
		{[]float64{1}, []float64{4, 5}, Undecided},
		{[]float64{1, math.NaN(), 3}, []float64{4, 5, 6}, Undecided},
		{nil, []float64{4, 5}, NotMeasured},
	} {
		if got := below(c.a, c.b); got != c.want {
			t.Errorf("%v below %v: %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

// TestAtLeast: every seed has to reach the limit, that of a model which diverged too.
func TestAtLeast(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		values []float64
		want   Judgement
		shown  string
	}{
		{[]float64{1, 2, 3}, Holds, "2.00 (1.00 to 3.00)"},
		{[]float64{0, 2, 3}, Undecided, "1.67 (0.00 to 3.00)"},
		{[]float64{0, 0.5}, Fails, "0.250 (0.00 to 0.500)"},
		{[]float64{2, nan, 2}, Undecided, "2.00 (2.00 to 2.00), 2 of 3 seeds finite"},
		{[]float64{0.5, nan}, Fails, "0.500, 1 of 2 seeds finite"},
		{[]float64{nan, nan}, Fails, "–, 0 of 2 seeds finite"},
		{[]float64{2, inf, 2}, Undecided, "2.00 (2.00 to 2.00), 1 of 3 seeds failed"},
		{[]float64{2, -inf, nan}, Undecided, "2.00, 1 of 3 seeds failed, 1 of 3 seeds finite"},
		{[]float64{inf, inf}, Fails, "–, 2 of 2 seeds failed"},
		{[]float64{2}, Undecided, "2.00"},
		{nil, NotMeasured, "–"},
	} {
		if got := atLeast(c.values, 1); got != c.want {
			t.Errorf("%v at least 1: %s, want %s", c.values, got, c.want)
		}
		if got := spreadOf(c.values).String(); got != c.shown {
			t.Errorf("%v is shown as %q, want %q", c.values, got, c.shown)
		}
	}
}

// TestClaims_FailedSeeds: a seed whose training failed does not vanish. It reaches no level and leaves orders undecided,
// and claims and tables say so; a metric that the model does not have is no failure.
func TestClaims_FailedSeeds(t *testing.T) {
	r := published(t, Quick)
	before := map[string]Verdict{}
	for _, c := range Claims() {
		before[c.ID] = r.Judge(c)
	}
	r.failed = map[int]bool{}
	for _, g := range r.Plan.Groups {
		if g.Part == Ball && g.Key == "normal" || g.Part == FHN && g.Key == "concrete" || g.Part == Table1 && g.Key == "fusion" {
			r.found[g.trials[1]], r.failed[g.trials[1]] = map[string]Findings{}, true
		}
	}
	const failed = "1 of 2 seeds failed"
	for _, c := range Claims() {
		v := r.Judge(c)
		switch c.ID {
		case "fhn-level", "fhn-trslds", "fhn-linear", "switch-maze", "switch-reacher", "tenth", "ball-smoothed", "ball-long",
			"order-maze":
			if v.Judgement != Undecided || !strings.Contains(v.Detail, failed) {
				t.Errorf("%s: %s (%s)", c.ID, v.Judgement, v.Detail)
			}
		case "velocity", "dt-growth", "limit":
			if v != before[c.ID] {
				t.Errorf("%s: %v, want %v", c.ID, v, before[c.ID])
			}
		}
	}
	frames := r.tables(Ball)[0]
	if row := r.block(frames).Table.Rows[0]; strings.Count(strings.Join(row, " "), failed) != len(eval.PixelHorizons()) {
		t.Errorf("%s has %q", frames.name, row)
	}
	if text := r.basis(); !strings.HasSuffix(text, "; 4 failed") {
		t.Errorf("the report rests on %s", text)
	}
}

// TestWrite: the report has every claim, table, figure and run, and is the same each time.
func TestWrite(t *testing.T) {
	r := published(t, Quick)
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		if err := r.Write(dir, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"index.html", "report.md", "numbers.csv", "runs.csv", "figures/dt.svg", "figures/table1-maze.svg", "figures/fhn-r2.png"} {
		a, err := os.ReadFile(filepath.Join(one, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(two, name))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs from one time to the next: %v", name, err)
		}
	}
	data, err := os.ReadFile(filepath.Join(one, "numbers.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rows[0], ","); got != "claim_or_table,row,column,seed,value,paper" {
		t.Errorf("header %s", got)
	}
	found := false
	for _, row := range rows {
		found = found || row[0] == "table1-maze" && row[1] == "Ours (Normal)" && row[2] == "ratio_to_static/10" && row[3] == "1" && row[5] != ""
	}
	if !found {
		t.Error("numbers.csv lacks the ratio of Normal on the maze")
	}
}

// TestWrite_OfNothing: where no run is measured, claims are not measured and no figure shows the paper's points alone.
func TestWrite_OfNothing(t *testing.T) {
	r := published(t, Quick)
	for i := range r.found {
		r.found[i] = map[string]Findings{}
	}
	dir := t.TempDir()
	if err := r.Write(dir, nil); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(filepath.Join(dir, "figures")); err != nil || len(files) > 0 {
		t.Errorf("figures %v, %v", files, err)
	}
	for _, c := range Claims() {
		if v := r.Judge(c); v.Judgement != NotMeasured {
			t.Errorf("%s: %s (%s)", c.ID, v.Judgement, v.Detail)
		}
	}
}
