package fit

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/sweep/trials"
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
	if poor := plan(func(r *Request) { r.Budget = time.Millisecond }); len(poor.Candidates) < 4 {
		t.Errorf("a budget for nothing: %d candidates; the rules and the autoregressions of the test are tried all the same", len(poor.Candidates))
	}
	logs := plan(func(r *Request) { r.Read.Transform = "diff" })
	for _, c := range logs.Candidates {
		if transform, _ := valueOf(c.Settings, "env.transform"); c.Family != "naive" && transform != "diff" {
			t.Errorf("%v", c.Settings)
		}
	}
}

// TestPlan_TransformOfNetworks: networks learn the transform that was asked for or is suggested. Where none is suggested
// they learn none, also if the data have a season whose differences an autoregression tries.
func TestPlan_TransformOfNetworks(t *testing.T) {
	for _, c := range []struct {
		asked, want string
		at          func(t int) float64
	}{
		{"", "", wave},
		{"diff", "diff", wave},
		{"", "log-diff", func(t int) float64 { return 50 + float64(t) + 20*wave(t) }},
	} {
		r := &Request{
			Kinds: config.Builtin().Kinds(), Paths: []string{table(t, 400, c.at)}, Budget: time.Hour, Workers: 1, Seed: 1,
		}
		r.Read.Transform = c.asked
		p, err := r.Plan()
		if err != nil {
			t.Fatal(err)
		}
		networks := 0
		for _, o := range p.Candidates {
			if o.Family != "slds" && o.Family != "lstm" {
				continue
			}
			networks++
			if got, _ := valueOf(o.Settings, "env.transform"); got != c.want {
				t.Errorf("%s has the transform %q, want %q", o.Name(), got, c.want)
			}
			start, _ := valueOf(o.Settings, "model.start")
			if settled := p.evidence.Settled() && c.want == ""; o.Family == "slds" && (start != "") != settled {
				t.Errorf("transformed by %q it starts from %q, of %d regimes", c.want, start, p.evidence.Regimes)
			}
		}
		if tried := p.facts.transforms; networks != 2 || c.asked == "" && !strings.HasSuffix(tried[len(tried)-1], "diff20") {
			t.Errorf("%d networks; the transforms are %q", networks, tried)
		}
	}
}

// TestPlan_TriesEvidentRegimes: the model with as many regimes as the data have comes before autoregressions that no
// test needs, so that a small budget pays for it; also where they are more than are tried otherwise.
func TestPlan_TriesEvidentRegimes(t *testing.T) {
	r := &Request{
		Kinds: config.Builtin().Kinds(), Paths: []string{table(t, 400, wave)}, Budget: 10 * time.Second, Workers: 1,
		Families: []string{"arhmm"},
	}
	p, err := r.Plan()
	if err != nil {
		t.Fatal(err)
	}
	for regimes, open := range map[int]bool{2: false, 8: false, 3: true} {
		p.evidence = eval.Evidence{Regimes: regimes, Lags: 2, Open: open, Tried: []eval.TriedRegimes{{Regimes: regimes}}}
		all, err := p.candidates(&data{})
		if err != nil {
			t.Fatal(err)
		}
		have := func(c Candidate) bool { return c.Name() == fmt.Sprintf("arhmm with %d regimes of order 2", regimes) }
		other := func(c Candidate) bool { return !c.tested && !have(c) }
		at, first := slices.IndexFunc(all, have), slices.IndexFunc(all, other)
		if evident := at >= 0 && at < first; evident == open || at >= 0 && slices.ContainsFunc(all[at+1:], have) {
			t.Errorf("%d regimes, open %v: candidate %d of %d, the first other one is %d", regimes, open, at, len(all), first)
		}
		p.Candidates, p.Left, p.Seconds = nil, nil, 0
		p.pay(all)
		if slices.ContainsFunc(p.Candidates, have) == open {
			t.Errorf("%d regimes, open %v: the budget pays for %d candidates", regimes, open, len(p.Candidates))
		}
	}
}

// TestPlan_PaysForGaps: EM follows all regimes over gaps, so a series of which every second value is missing takes it
// far more time than the same series without the gaps.
func TestPlan_PaysForGaps(t *testing.T) {
	seconds := func(value func(t int) float64) float64 {
		r := &Request{
			Kinds: config.Builtin().Kinds(), Paths: []string{table(t, 400, value)}, Budget: time.Hour, Workers: 1,
			Families: []string{"arhmm"},
		}
		p, err := r.Plan()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range slices.Concat(p.Candidates, p.Left) {
			switches, _ := valueOf(c.Settings, "model.switches")
			if order, _ := valueOf(c.Settings, "model.order"); switches == "2" && order == "2" {
				return c.Seconds
			}
		}
		t.Fatal("no candidate has two regimes and two lags")
		return 0
	}
	whole := seconds(wave)
	gaps := seconds(func(t int) float64 {
		if t%2 == 1 && t > 2 {
			return math.NaN()
		}
		return wave(t)
	})
	if gaps < 100*whole {
		t.Errorf("%.3g s with gaps, %.3g s without", gaps, whole)
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

// TestPlan_TakesTheRegimesThatThereAre: the network has as many systems as the training part has regimes.
func TestPlan_TakesTheRegimesThatThereAre(t *testing.T) {
	var b strings.Builder
	b.WriteString("episode,y_x\n")
	for e := range 30 {
		x, up := float64(e%7)/2-1.5, e%2 == 0
		for i := range 60 {
			x += map[bool]float64{true: 0.16, false: -0.16}[up] + 0.02*math.Sin(float64(i*i+e))
			fmt.Fprintf(&b, "%d,%.5f\n", e, x)
			up = up && x <= 2 || !up && x < -2
		}
	}
	path := filepath.Join(t.TempDir(), "walls.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Request{Kinds: config.Builtin().Kinds(), Paths: []string{path}, Budget: time.Minute, Workers: 4, Seed: 1}
	p, err := r.Plan()
	if err != nil {
		t.Fatal(err)
	}
	text := string(p.spec())
	for _, want := range []string{`model.switches: "2", model.hidden`, `model.latent: "1"`, `model.start: "arhmm"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if split := p.Decisions[len(p.Decisions)-2].Value; split != "by recording: 24 for training, 3 to choose by, 3 to test the choice; to test the future of each: env.split=time" {
		t.Errorf("the split is said to be %s", split)
	}
	if last := p.Decisions[len(p.Decisions)-3]; last.Name != "regimes" || !strings.HasPrefix(last.Value, "2 regimes, in") {
		t.Errorf("it says %+v", last)
	}
}

// TestPlan_SettingsSayHowFilesAreRead: settings of the section env count for the reading of the plan as for that of the
// candidates, and a window that is asked for is that of the networks.
func TestPlan_SettingsSayHowFilesAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shops.csv")
	text := "day,shop,sales,guests\n"
	for _, shop := range []string{"A", "B"} {
		for i := range 80 {
			text += fmt.Sprintf("%d,%s,%.4f,%.4f\n", i%40, shop, wave(i), wave(i+3)) // each day is there twice
		}
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := func(settings ...string) (*Plan, error) {
		r := &Request{
			Kinds: config.Builtin().Kinds(), Paths: []string{path}, Budget: time.Minute, Workers: 1, Seed: 1,
			Settings: settings, Families: []string{"lstm"},
		}
		return r.Plan()
	}
	p, err := plan("env.time=none", "env.id=shop", "env.observe=sales", "env.window=7", "env.transform=diff", "eval.horizon=99")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range p.Decisions {
		got[d.Name] = d.Value
	}
	for name, want := range map[string]string{
		"observed": "sales", "time": "rows are even steps", "recordings": "column shop: 2 recordings", "transform": "diff",
		"horizon": "99 steps; no more than 16 are scored, as no held-out recording is longer",
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	if spec := string(p.spec()); !strings.Contains(spec, `model.kind: "lstm", env.window: "7"`) {
		t.Errorf("no window of 7 steps:\n%s", spec)
	}
	if of, said := valueOf(p.common, "env.transform"); said {
		t.Errorf("the simple rules see %s", of)
	}
	// Other parts than those suggested may be shorter than the window that was suggested.
	if p, err = plan("env.time=none", "env.id=shop", "env.validation=0.1"); err != nil {
		t.Errorf("shorter parts: %v", err)
	} else if spec := string(p.spec()); !strings.Contains(spec, `model.kind: "lstm", env.window: "8"`) {
		t.Errorf("the window is not that of the parts:\n%s", spec)
	}
	for _, wrong := range []string{"env.files=other.csv", "env.kind=fhn"} {
		if _, err := plan(wrong); err == nil || !strings.Contains(err.Error(), wrong+": fit takes its files as arguments") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestPlan_OfImages: networks alone are tried; a budget that pays for none of them is refused with one that does.
func TestPlan_OfImages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "film.npz")
	noise := func(t, channel int) float64 { return math.Mod(math.Abs(math.Sin(float64(64*t+channel)))*43758, 1) }
	film := recordings(64, noise, 20, 20, 20, 20)
	film.Image = [3]int{8, 8, 1}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(film.WriteNPZ(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	r := &Request{
		Kinds: config.Builtin().Kinds(), Paths: []string{path}, Budget: time.Second, Workers: 2, Seed: 1,
	}
	_, err = r.Plan()
	if err == nil || !strings.Contains(err.Error(), "the budget pays for no candidate") {
		t.Fatal(err)
	}
	word, _, _ := strings.Cut(strings.TrimPrefix(config.HintOf(err), "--budget "), " ")
	if r.Budget, err = time.ParseDuration(word); err != nil {
		t.Fatal(err)
	}
	if p, err := r.Plan(); err != nil || len(p.Candidates) == 0 {
		t.Errorf("--budget %v: %v", r.Budget, err)
	}
}

// TestPrepare_SeedTooLarge: a seed that no run takes is refused as what was asked for, not as a line of a file.
func TestPrepare_SeedTooLarge(t *testing.T) {
	dir := t.TempDir()
	r := &Request{
		Kinds: config.Builtin().Kinds(), Paths: []string{table(t, 100, wave)}, Budget: time.Second, Workers: 1, Seed: 1 << 63,
		Families: []string{"arhmm"},
	}
	_, err := r.Prepare(trials.Folder{Dir: dir, Name: "x"}, dir)
	if !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), "9223372036854775808") || strings.Contains(err.Error(), "spec.yaml") {
		t.Error(err)
	}
}

// TestPlan_WithoutAScore: data by which no candidate could be scored are refused before anything is trained.
func TestPlan_WithoutAScore(t *testing.T) {
	unknown := math.NaN()
	for _, c := range []struct {
		want string
		at   func(t int) float64
	}{
		{"nothing was measured in the validation part", func(t int) float64 { return cond(t < 150, wave(t), unknown) }},
		{"nothing was measured in the test part", func(t int) float64 { return cond(t < 170, wave(t), unknown) }},
		{"nothing changes from step to step in the training part", func(t int) float64 { return cond(t < 170, 0, wave(t)) }},
		{"each season of 7 steps repeats the one before it", func(t int) float64 { return cond(t%7 == 0, 5, 0) }},
	} {
		r := &Request{Kinds: config.Builtin().Kinds(), Paths: []string{table(t, 200, c.at)}, Budget: time.Second, Workers: 1, Seed: 1}
		if _, err := r.Plan(); !errors.Is(err, files.ErrData) || !strings.Contains(err.Error(), c.want) || config.HintOf(err) == "" {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// cond is a where it holds, else b.
func cond(holds bool, a, b float64) float64 {
	if holds {
		return a
	}
	return b
}
