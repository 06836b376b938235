package fit

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/rng"
	"github.com/switchyard-ml/switchyard/sweep/trials"
)

// attempt tries the candidates of arhmm, and of further families in more time, for a CSV file with a header and so many
// rows.
func attempt(t *testing.T, header string, steps int, row func(t int) string, families ...string) *Fit {
	t.Helper()
	var b strings.Builder
	b.WriteString(header + "\n")
	for i := range steps {
		b.WriteString(row(i) + "\n")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Request{
		Kinds: config.Builtin().Kinds(), Paths: []string{path}, Budget: time.Duration(2+8*len(families)) * time.Second,
		Workers: 1, Seed: 1, Families: append([]string{"arhmm"}, families...),
	}
	runs := filepath.Join(dir, "runs")
	f, err := r.Prepare(trials.Folder{Dir: filepath.Join(dir, "sweeps"), Name: "x"}, runs)
	if err == nil {
		err = f.Try(context.Background(), Place{
			Workers: 1, Command: func(words ...string) string { return strings.Join(words, " ") },
			Leader: trials.Leader{
				Threads: 1, Log: hclog.NewNullLogger(), Page: func(string, any) ([]byte, error) { return nil, nil },
			},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func fitted(t *testing.T, header string, steps int, row func(t int) string) *Result {
	t.Helper()
	result, err := attempt(t, header, steps, row).Finish(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestFit_ATieGoesToTheSimpler: of a random walk some autoregression predicts the validation part a little better than
// the last value, by chance. The last value is the model all the same, and the verdict says which one it was level with.
func TestFit_ATieGoesToTheSimpler(t *testing.T) {
	s, x := rng.New(3, rng.Episode).At(0, 0, 0), 0.0
	r := fitted(t, "t,y_x", 300, func(i int) string {
		x += s.Normal()
		return fmt.Sprintf("%d,%.5f", i, x)
	})
	top := r.Scores()[0]
	if !r.Rule || r.Family != "naive" || top.Family == "naive" || !strings.Contains(r.Verdict, "which is level: the simpler model was taken") {
		t.Errorf("%v after %s with %.4f\n%s", r.Settings, top.Name(), top.Score, r.Verdict)
	}
}

// TestFit_SaysWhatRegimesItPassedOver: where regimes differ in nothing but how channels are correlated, they improve no
// forecast. The verdict says that there are two all the same, and a run of the sweep divides time by them.
func TestFit_SaysWhatRegimesItPassedOver(t *testing.T) {
	s, truth := rng.New(3, rng.Episode).At(0, 0, 0), make([]int, 400)
	f := attempt(t, "t,y_a,y_b", len(truth), func(i int) string {
		truth[i] = i / 40 % 2
		a, b := s.Normal(), s.Normal()
		return fmt.Sprintf("%d,%.5f,%.5f", i, a, 0.3*b+a*float64(1-2*truth[i]))
	}, "slds")
	r, err := f.Finish(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	const want = "By likelihood the training part has 2 regimes, in 100 % of 200 resampled sets of recordings, which the " +
		"model does not have; arhmm with 2 regimes of order 1 has as many."
	if r.Regimes != nil || !strings.HasSuffix(r.Verdict, want) {
		t.Errorf("%v:\n%s", r.Settings, r.Verdict)
	}
	// A larger budget is named only where it tries them.
	for end, left := range map[string][]Candidate{"does not have.": nil, "a larger --budget tries an arhmm with them.": f.Plan.evident()} {
		f.Plan.Left = left
		if text := f.passedOver(&Result{}, &chosen{}, nil); !strings.HasSuffix(text, end) {
			t.Errorf("%q, want an end of %q", text, end)
		}
	}
	run, err := f.openRun(r.Dividing)
	if err != nil {
		t.Fatal(err)
	}
	found, m, _, err := divisions(run, 1)
	if err != nil || m != 2 {
		t.Fatal(m, err)
	}
	if _, counts := eval.Contingency(found, [][]int{truth}, 2); eval.RandIndex(counts) < 0.9 {
		t.Errorf("regimes beside the true ones: %v", counts)
	}
}

// TestFit_AfterPrune: what prune removes of the candidates that lost is not what the choice among them needs.
func TestFit_AfterPrune(t *testing.T) {
	s, x := rng.New(3, rng.Episode).At(0, 0, 0), 0.0
	f := attempt(t, "t,y_x", 120, func(i int) string {
		x += s.Normal()
		return fmt.Sprintf("%d,%.5f", i, x)
	})
	runs := t.TempDir()
	before, err := f.Finish(runs, 1)
	if err != nil {
		t.Fatal(err)
	}
	items, err := trials.Find(trials.PruneRequest{Runs: runs, Sweeps: f.Folder.Dir, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range items {
		if err := i.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	after, err := f.Finish(runs, 1)
	if err != nil || after.Verdict != before.Verdict || after.Hash != before.Hash {
		t.Errorf("%v after %d items were removed: %+v", err, len(items), after)
	}
}

// TestFit_SeesPastControls: where a control acts a step later, a model of past controls is chosen, and no autoregression of
// the test is more than the margin ahead of it.
func TestFit_SeesPastControls(t *testing.T) {
	s, x, before := rng.New(3, rng.Episode).At(0, 0, 0), 0.0, 0.0
	r := fitted(t, "t,y_x,u_v", 300, func(i int) string {
		u := s.Normal()
		x = 0.5*x + before + 0.1*s.Normal()
		before = u
		return fmt.Sprintf("%d,%.5f,%.5f", i, x, u)
	})
	past, _ := valueOf(r.Settings, "model.past_controls")
	hardest, _ := r.Report.Hardest(false)
	if past == "" || !(hardest.Ratio.Value <= margin) {
		t.Errorf("%v: %s\n", r.Settings, r.Verdict)
	}
	if c, _ := r.Report.Hardest(true); !(c.Ratio.Value < 0.5) || math.IsNaN(c.Ratio.SE) {
		t.Errorf("beside the simple rules: %+v", c.Ratio)
	}
}

// TestFit_ScoresFromTheSameStarts: candidates that see more steps before a prediction are not scored on other starts:
// the score of each is that of a test in which all see as many. With 103 steps there are 21 starts for each of them,
// which lie elsewhere.
func TestFit_ScoresFromTheSameStarts(t *testing.T) {
	for _, length := range []int{50, 103} {
		t.Run(fmt.Sprint(length), func(t *testing.T) { scoresFromTheSameStarts(t, length) })
	}
}

func scoresFromTheSameStarts(t *testing.T, length int) {
	const season = 12
	s := rng.New(3, rng.Episode).At(0, 0, 0)
	var x []float64
	f := attempt(t, "id,t,y_x", 10*length, func(i int) string {
		x = append(x, s.Normal())
		if i%length >= season {
			x[i] = 0.95*x[i-season] + 0.3*x[i]
		}
		return fmt.Sprintf("%d,%d,%.5f", i/length, i%length, x[i])
	})
	state, err := f.Folder.State()
	if err != nil {
		t.Fatal(err)
	}
	list, v := tried(state), newValidation(f, 1)
	if err := v.level(list); err != nil {
		t.Fatal(err)
	}
	least, most := length, 0
	for _, c := range list {
		own, err := v.view(c)
		if err != nil {
			t.Fatal(err)
		}
		least, most = min(least, own.seen), max(most, own.seen)
	}
	if least == most {
		t.Fatalf("all candidates see %d steps", most)
	}
	for _, c := range list[:4] {
		report, err := v.report(c, most)
		if err != nil {
			t.Fatal(err)
		}
		if want := report.Report().Numbers().Get("mase_mean"); c.Score != want {
			t.Errorf("%s has the score %v, want %v", c.Name(), c.Score, want)
		}
	}
}

// TestChoice_OfTheTestPart: the hardest rival is that of the least error, and takes the place of a choice that it beats by
// more than the margin. An error that is not a number is worse than any other.
func TestChoice_OfTheTestPart(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		first   float64
		rivals  []float64
		hardest int
		refuted bool
	}{
		{1, []float64{2, 0.9, 0.9}, 1, true},
		{1, []float64{2, 0.96}, 1, false},
		{1, []float64{nan, 2}, 1, false},
		{1, []float64{nan, 0.5}, 1, true},
		{1, []float64{0.5, nan}, 0, true},
		{1, []float64{nan, nan}, 0, false},
		{nan, []float64{nan, 2}, 1, true},
		{nan, []float64{nan}, 0, false},
	} {
		first, rivals := &choice{test: c.first}, []*choice(nil)
		for _, v := range c.rivals {
			rivals = append(rivals, &choice{test: v})
		}
		rival := hardest(rivals)
		if rival != rivals[c.hardest] || first.refutedBy(rival) != c.refuted {
			t.Errorf("%v: the hardest has %v, refuted: %t", c, rival.test, first.refutedBy(rival))
		}
	}
	if hardest(nil) != nil {
		t.Error("of no rivals one is the hardest")
	}
}

// TestVerdict_OfARefutedChoice: what the test part refutes was better on the validation part, or only the simplest that
// was level with the best there: then it is not said to be better.
func TestVerdict_OfARefutedChoice(t *testing.T) {
	t.Parallel()
	of := func(order, past string, test float64) *choice {
		settings := []string{"model.kind=arhmm", "model.switches=1", "model.order=" + order}
		if past != "" {
			settings = append(settings, "model.past_controls="+past)
		}
		return &choice{Tried: Tried{Candidate: candidateOf(settings)}, test: test}
	}
	const best = "The model is the best autoregression (order 10, 9 past controls); no other candidate beats it.\n"
	better := &tie{of("9", "", 1).Tried, eval.Estimate{Value: 0.99, SE: 0.02}}
	for _, c := range []struct {
		chosen chosen
		want   string
	}{
		{
			chosen{choice: of("10", "9", 1), first: of("4", "1", 1.09)},
			best + "Autoregression of order 4 with 1 past control predicted the validation part better, but not the test part: ",
		},
		{
			chosen{choice: of("10", "9", 1), first: of("4", "", 1.09), tied: better},
			best + "Autoregression of order 4 was first choice on the validation part (the simplest within one standard error " +
				"of the best), but on the test part its error is 1.09 times as large.\n",
		},
		{
			chosen{choice: of("4", "", 1), tied: better},
			"The model is an autoregression (order 4); no other candidate clearly beats it.\nAutoregression of order 9 predicted " +
				"the validation part with .99 ± .02 of its error",
		},
		{chosen{choice: of("10", "9", 1)}, best},
	} {
		if got := verdict(&c.chosen, nil); !strings.HasPrefix(got, c.want) {
			t.Errorf("the verdict is\n%s\nwant\n%s", got, c.want)
		}
	}
}
