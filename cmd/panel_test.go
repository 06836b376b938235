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
	if _, err := service.Filter(ctx, serving.FilterRequest{Client: "c", Observations: rows}); err == nil {
		t.Error("a client that is no recording is filtered")
	}
}
