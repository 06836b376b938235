package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/serving"
	"github.com/switchyard-ml/switchyard/trained"
)

// Recording b of a panel is panelOffset + panelUnit times recording a.
const (
	panelUnit   = 1e4
	panelOffset = 5e5
)

// writePanel writes two recordings of the same values in different units.
func writePanel(t *testing.T, path string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("unique_id,ds,sales\n")
	first := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, r := range []struct {
		id         string
		unit, from float64
	}{{"a", 1, 0}, {"b", panelUnit, panelOffset}} {
		x := 0.0
		for s := range 80 {
			x = 0.8*x + math.Sin(float64(s*s))
			fmt.Fprintf(&b, "%s,%s,%.9g\n", r.id, first.AddDate(0, 0, s).Format(time.DateOnly), r.from+r.unit*(10+x))
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPanel_EachRecordingByItself: with a scale for each recording, one that is another in other units gets the same
// answers in these units.
func TestPanel_EachRecordingByItself(t *testing.T) {
	t.Parallel()
	for _, transform := range []string{"", "diff"} {
		c := newCLI(t)
		dir := t.TempDir()
		data := filepath.Join(dir, "panel.csv")
		writePanel(t, data)
		if out := c.must("data", "info", data).out; !strings.Contains(out, "env.normalise=recording") {
			t.Errorf("data info does not suggest scales of recordings:\n%s", out)
		}
		c.must("train", "files", "env.files="+data, "env.normalise=recording", "model.kind=arhmm", "model.switches=1", "env.transform="+transform,
			"model.sweeps=2", "model.exchange=2", "model.chains=1", "eval.horizon=4", "--name", "own", "--quiet")
		same := func(what string, list []float64) {
			n := len(list) / 2
			for i := range n {
				if a, b := list[i], list[n+i]; !(math.Abs((b-panelOffset)/panelUnit-a) < 1e-2 && a > 0 && a < 20) {
					t.Errorf("%q %s %d: %g and %g", transform, what, i, a, b)
				}
			}
		}
		out := filepath.Join(dir, "out.npz")
		ask := func(words ...string) map[string][]float64 {
			c.must(append(words, "--out", out)...)
			_, values := npz(t, out)
			return values
		}
		same("forecast", ask("forecast", "own", "--horizon", "5")["mean"])
		same("forecast of files", ask("forecast", "own", "--data", data, "--horizon", "5")["quantiles"])
		same("smooth", ask("smooth", "own")["observations"])
		a, b := ask("simulate", "own", "--recording", "a", "--steps", "6")["y"], ask("simulate", "own", "--recording", "b", "--steps", "6")["y"]
		same("simulate", append(a, b...))
		scores := ask("backtest", "own")
		for _, pair := range [][2]float64{
			{scores["recording_mae"][0], scores["recording_mae"][1] / panelUnit}, {scores["recording_mase"][0], scores["recording_mase"][1]},
		} { // but for the paths, which are others
			if !(pair[0] > 0 && math.Abs(pair[1]/pair[0]-1) < 0.3) {
				t.Errorf("%q: the error of one series in two units: %v", transform, pair)
			}
		}
		if r := c.run("simulate", "own", "--steps", "6"); r.code != exitUsage || !strings.Contains(r.err, "--recording") {
			t.Errorf("simulate without a recording: code %d, %s", r.code, r.err)
		}
		table, err := os.ReadFile(filepath.Join(c.dir, "own", "tables", "recordings_each.csv"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(table), "recording,starts,MASE") || strings.Count(string(table), "\n") != 3 {
			t.Errorf("scores by recording:\n%s", table)
		}
	}
}

// TestPanel_KeyOfTwoColumns: where a store and an item name a recording together, answers have both columns, and
// controls and scales are found by them.
func TestPanel_KeyOfTwoColumns(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	table, plan := "day,store,item,price,sales\n", "store,item,day,price\n"
	for _, store := range []string{"A", "B"} {
		for item := range 2 {
			for day := range 40 {
				table += fmt.Sprintf("%d,%s,%d,%d,%d\n", day, store, item+1, day%3, (day*day+item)%7+100*item)
			}
			for day := range 3 {
				plan += fmt.Sprintf("%s,%d,%d,1\n", store, item+1, 40+day)
			}
		}
	}
	data, out := c.write("sales.csv", table), filepath.Join(t.TempDir(), "out.csv")
	c.must("train", "files", "env.files="+data, "env.observe=sales", "env.control=price", "env.time=day", "env.id=store,item", "env.normalise=recording",
		"model.kind=arhmm", "model.switches=1", "model.sweeps=2", "model.exchange=2", "model.chains=1", "eval.horizon=4", "--name", "own", "--quiet")
	rows := func(line ...string) []string {
		c.must(append(line, "--out", out)...)
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	for _, question := range []struct {
		line, header, last string
		rows               int
	}{
		{"forecast own --horizon 3 --data DATA --controls PLAN", "store,item,day,step,sales,", "B,2,42,42,", 12},
		{"segment own --data DATA", "store,item,day,step,regime,", "B,2,39,39,", 160},
	} {
		line := strings.Fields(strings.NewReplacer("DATA", data, "PLAN", c.write("plan.csv", plan)).Replace(question.line))
		got := rows(line...)
		if len(got) != 1+question.rows || !strings.HasPrefix(got[0], question.header) || !strings.HasPrefix(got[len(got)-1], question.last) {
			t.Errorf("%s: %d rows below %s, the last is %s; want %d below %s…, and %s…", question.line, len(got)-1, got[0], got[len(got)-1],
				question.rows, question.header, question.last)
		}
	}
	if said := c.must("smooth", "own", "--data", data).out; !strings.Contains(said, "smoothed episode A/1 (") || !strings.Contains(said, "\nday ") {
		t.Errorf("smooth names neither the first recording nor its days:\n%s", said)
	}
	if simulated := rows("simulate", "own", "--recording", "B/2", "--steps", "4"); len(simulated) != 5 {
		t.Errorf("simulate: %q", simulated)
	}
}

// TestPanel_Online filters the same observations in both units as they come, in the library and as clients of a server,
// which bear the ids of the recordings.
func TestPanel_Online(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "panel.csv")
	writePanel(t, data)
	c.must(append([]string{"train", "files", "env.files=" + data, "env.normalise=recording", "env.validation=0.2", "env.test=0.2", "--name", "own"}, small...)...)
	r, err := trained.Open(filepath.Join(c.dir, "own"), nil)
	if err != nil {
		t.Fatal(err)
	}
	online, err := r.Online()
	if err != nil {
		t.Fatal(err)
	}
	a, b := &trained.State{Of: "a"}, &trained.State{Of: "b"}
	for _, v := range []float64{9, 10, 12, 11} {
		next := []trained.Observation{{Values: []float64{v}}, {Values: []float64{panelOffset + panelUnit*v}}}
		if err := online.Step([]*trained.State{a, b}, next); err != nil {
			t.Fatal(err)
		}
	}
	if x, y := a.Expected[0], b.Expected[0]; math.Abs((y-panelOffset)/panelUnit-x) > 1e-2 || !(x > 8 && x < 13) {
		t.Errorf("filtered: %g and %g", x, y)
	}
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var kept trained.State
	if err := json.Unmarshal(text, &kept); err != nil || kept.Of != "b" {
		t.Errorf("a stored state is of %q: %v", kept.Of, err)
	}
	if err := online.Step([]*trained.State{{Of: "c"}}, []trained.Observation{{Values: []float64{9}}}); !errors.Is(err, trained.ErrSeries) {
		t.Errorf("a series that training did not see: %v", err)
	}
	service, err := serving.New(r, serving.Limits{}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { service.Work(ctx, 1) })
	defer work.Wait()
	defer cancel()
	rows := [][]serving.Number{{panelOffset + 9*panelUnit}, {panelOffset + 10*panelUnit}, {panelOffset + 12*panelUnit}, {panelOffset + 11*panelUnit}}
	answer, err := service.Filter(ctx, serving.FilterRequest{Client: "b", Observations: rows})
	if err != nil {
		t.Fatal(err)
	}
	if got := float64(answer.Expected[3][0]); math.Abs(got-b.Expected[0]) > 1 {
		t.Errorf("served: %g, in the library %g", got, b.Expected[0])
	}
	future, err := service.Forecast(ctx, serving.ForecastRequest{Client: "b", Horizon: 3})
	if got := future.Mean; err != nil || len(got) != 3 || !(got[2][0] > panelOffset+5*panelUnit && got[2][0] < panelOffset+15*panelUnit) {
		t.Errorf("a served forecast: %v, %v", got, err)
	}
	if _, err := service.Filter(ctx, serving.FilterRequest{Client: "c", Observations: rows[:1]}); err == nil || !strings.Contains(err.Error(), "begin with more") {
		t.Errorf("a client that is no recording begins with one observation: %v", err)
	}
	var filtered [2][]serving.Number
	for i, unit := range []serving.Number{1, panelUnit} { // another series, in two units, and goes on
		client := fmt.Sprint("new", i)
		for range 2 {
			answer, err := service.Filter(ctx, serving.FilterRequest{Client: client, Observations: [][]serving.Number{{9 * unit}, {10 * unit}, {12 * unit}}})
			if err != nil {
				t.Fatal(err)
			}
			filtered[i] = append(filtered[i], answer.Expected[2][0]/unit)
		}
	}
	for i, v := range filtered[0] {
		if other := filtered[1][i]; math.Abs(float64(v-other)) > 1e-3 || !(v > 8 && v < 13) {
			t.Errorf("a client that is no recording: %v and %v", v, other)
		}
	}
}

// TestPanel_Stream filters observations as they come, in the scale of a recording that is named, or in that of how the
// series begins. A stream without a scale is refused with what to do.
func TestPanel_Stream(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	data := filepath.Join(t.TempDir(), "panel.csv")
	writePanel(t, data)
	c.must(append([]string{"train", "files", "env.files=" + data, "env.normalise=recording", "env.validation=0.2", "env.test=0.2", "--name", "own"}, small...)...)
	expected := func(unit, from float64, words ...string) (list []float64) {
		c.stdin = ""
		for _, v := range []float64{9, 10, 12, 11} {
			c.stdin += fmt.Sprintf("[%g]\n", from+unit*v)
		}
		for line := range strings.Lines(c.must(append([]string{"filter", "own", "--in", "-"}, words...)...).out) {
			var answer serving.Line
			if err := json.Unmarshal([]byte(line), &answer); err != nil {
				t.Fatal(err)
			}
			list = append(list, (float64(answer.Expected[0])-from)/unit)
		}
		return list
	}
	for what, pair := range map[string][2][]float64{
		"recordings":     {expected(1, 0, "--recording", "a"), expected(panelUnit, panelOffset, "--recording", "b")},
		"other series":   {expected(1, 0, "--begin", "3"), expected(20, 300, "--begin", "3")},
		"a short stream": {expected(1, 0, "--begin", "4"), expected(20, 300, "--begin", "9")},
	} {
		for i, v := range pair[0] {
			if len(pair[1]) != 4 || math.Abs(v-pair[1][i]) > 1e-2 || !(v > 7 && v < 14) {
				t.Errorf("%s: %v and %v", what, pair[0], pair[1])
				break
			}
		}
	}
	for _, wrong := range []struct{ stdin, words, want string }{
		{"[9]\n[10]\n", "", "name one of training with --recording (a, b), or scale another series by its first N lines with --begin N"},
		{"[9]\n[10]\n", "--recording c", `training saw no recording "c"`},
		{"[9]\n[9]\n[9]\n", "--begin 2", "sales has no two different values"},
	} {
		c.stdin = wrong.stdin
		if r := c.run(append([]string{"filter", "own", "--in", "-"}, strings.Fields(wrong.words)...)...); r.code != exitData || !strings.Contains(strings.Join(strings.Fields(r.err), " "), wrong.want) || r.out != "" {
			t.Errorf("filter %s: exit code %d\n%s%s", wrong.words, r.code, r.err, r.out)
		}
	}
}
