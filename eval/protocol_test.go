package eval_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// kinds are environments that are simulated.
var kinds = []string{"fhn", "maze", "reacher", "ball", "hopper", "noise", "modes", "bounce", "sticky", "nascar", "lorenz"}

// subject is an untrained model of a few parameters, to be measured on a few episodes.
func subject(t *testing.T, kind string, settings ...string) eval.Subject {
	t.Helper()
	resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: kind + "/smoke", Arguments: settings})
	if err != nil {
		t.Fatal(err)
	}
	c := resolved.Config
	data, env, err := config.Data(c)
	if err != nil {
		t.Fatal(err)
	}
	m, err := config.NewModel(c, data)
	if err != nil {
		t.Fatal(err)
	}
	return eval.Subject{
		Forecaster: m.(model.Forecasting).NewForecaster(), Env: env, Seed: c.Seed, Training: c.Env.Episodes, Length: c.Env.Length,
		Samples: 2, Question: eval.Question{Horizon: 10, Episodes: 30},
	}
}

// numbers are the tables that a protocol makes, in one piece.
func numbers(t *testing.T, p eval.Protocol, s eval.Subject) string {
	t.Helper()
	found, err := p.Run(s)
	if err != nil {
		t.Fatal(err)
	}
	declared(t, p, s, found)
	return written(t, found)
}

// declared checks that a protocol reports what it says before anything is measured, no more and no less.
func declared(t *testing.T, p eval.Protocol, s eval.Subject, found eval.Findings) {
	t.Helper()
	list, err := p.Metrics(s)
	if err != nil {
		t.Fatal(err)
	}
	lines := func(list []eval.Metric) string {
		var b strings.Builder
		for _, m := range list {
			fmt.Fprintf(&b, "%s, axis %q, unit %q: %q\n", m.Name, m.Axis, m.Unit, m.Names())
			if several := m.List || m.Keys != nil; several != (m.Axis != "") {
				t.Errorf("metric %s has the axis %q", m.Name, m.Axis)
			}
		}
		return b.String()
	}
	if want, got := lines(list), lines(found.Report.Metrics); got != want {
		t.Errorf("protocol %s reports\n%sand declares\n%s", p.Name, got, want)
	}
}

func written(t *testing.T, found eval.Findings) string {
	t.Helper()
	var b bytes.Buffer
	report, err := json.Marshal(found.Report)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(report)
	if err := found.Table.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if err := found.Curves.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// pictures draws the figure of a protocol, and returns its tables in one piece.
func pictures(t *testing.T, p eval.Protocol, s eval.Subject) string {
	t.Helper()
	found, err := p.Run(s)
	if err != nil {
		t.Fatal(err)
	}
	picture, ok := figure.Of(found, s.Env)
	if !ok {
		if found.Picture != nil {
			t.Errorf("protocol %s: nothing draws a %T", p.Name, found.Picture)
		}
		return written(t, found)
	}
	paths, err := picture.Write(t.TempDir())
	if err != nil || len(paths) < 3 {
		t.Fatalf("the figure: %v, %q", err, paths)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".svg") && !strings.HasPrefix(filepath.Base(path), p.Name) {
			t.Errorf("protocol %s draws %s", p.Name, filepath.Base(path))
		}
		if len(data) == 0 {
			t.Errorf("%s is empty", path)
		}
	}
	return written(t, found)
}

// TestProtocols_AreTheSameForAnyNumberOfThreads: tables and reports of every protocol and environment; and their
// pictures are drawn.
func TestProtocols_AreTheSameForAnyNumberOfThreads(t *testing.T) {
	drawn := map[string]bool{} // protocols
	for _, kind := range kinds {
		s := subject(t, kind)
		for _, p := range eval.ProtocolsFor(kind, s.Env) {
			t.Run(kind+"/"+p.Name, func(t *testing.T) {
				tables := numbers
				if everyPicture || !drawn[p.Name] {
					tables, drawn[p.Name] = pictures, true
				}
				s.Threads = 1
				one := tables(t, p, s)
				s.Threads = 3
				if three := numbers(t, p, s); three != one {
					t.Error("three threads find something else than one")
				}
			})
		}
	}
}

// TestProtocols_ReportWhatTheyDeclare where more is asked for than usual.
func TestProtocols_ReportWhatTheyDeclare(t *testing.T) {
	s := subject(t, "fhn")
	s.AllStarts, s.Fresh, s.Horizon, s.Prefix = true, true, 3, 6
	for _, p := range eval.ProtocolsFor("fhn", s.Env) {
		numbers(t, p, s)
	}
	s.Forecaster = nil // as of a family that is not fitted yet
	for _, p := range eval.ProtocolsFor("fhn", s.Env) {
		if list, err := p.Metrics(s); !errors.Is(err, eval.ErrUntrained) && (err != nil || len(list) == 0) {
			t.Errorf("protocol %s declares %v, %v", p.Name, list, err)
		}
	}
}

// TestProtocols_AnswerForEveryFamily: one that only forecasts gets what can be said of it, in words where that is
// nothing.
func TestProtocols_AnswerForEveryFamily(t *testing.T) {
	pictured(t, func(f model.Forecaster) model.Forecaster { return only{f} }, "maze", "reacher", "ball", "modes")
}

// pictured draws the pictures of all protocols of some environments, of a model in a guise.
func pictured(t *testing.T, guise func(model.Forecaster) model.Forecaster, kinds ...string) {
	for _, kind := range kinds {
		s := subject(t, kind)
		s.Forecaster = guise(s.Forecaster)
		for _, p := range eval.ProtocolsFor(kind, s.Env) {
			t.Run(kind+"/"+p.Name, func(t *testing.T) { pictures(t, p, s) })
		}
	}
}

// TestProtocols_OfEveryKindOfModel that forecasts and needs no more than the settings of a preset: each has its
// answers.
func TestProtocols_OfEveryKindOfModel(t *testing.T) {
	for _, family := range []string{"fusion", "dvbf", "kvae", "lstm", "static", "linear"} {
		for _, kind := range []string{"maze", "reacher"} {
			s := subject(t, kind, "model.kind="+family)
			for _, p := range eval.ProtocolsFor(kind, s.Env) {
				t.Run(family+"/"+kind+"/"+p.Name, func(t *testing.T) { numbers(t, p, s) })
			}
		}
	}
}

// only is a model without filter and switch.
type only struct{ model.Forecaster }

func (o only) Dims() model.Dims {
	d := o.Forecaster.Dims()
	return model.Dims{NX: d.NX, NU: d.NU}
}
func (o only) Clone() model.Forecaster { return only{o.Forecaster.Clone()} }

// TestProtocols_WithoutASwitch: a family of one's own may have a latent state and no mixing weights. Here the state is the
// last observation.
func TestProtocols_WithoutASwitch(t *testing.T) {
	pictured(t, func(f model.Forecaster) model.Forecaster { return steady{f} }, "fhn", "maze", "ball", "modes")
}

// steady is a model with a filter and without a switch.
type steady struct{ model.Forecaster }

func (m steady) Dims() model.Dims {
	d := m.Forecaster.Dims()
	return model.Dims{NX: d.NX, NU: d.NU, NZ: d.NX}
}
func (m steady) Clone() model.Forecaster { return steady{m.Forecaster.Clone()} }
func (m steady) Filter(dst *model.Filtering, b model.Batch, _ rng.Stream) {
	dst.Resize(b.T, b.B, b.NX, 0)
	copy(dst.Mean, b.Observations)
	clear(dst.SD)
}

// TestFor_TheUsualOneIsFirst, and every protocol fits where it is usual.
func TestFor_TheUsualOneIsFirst(t *testing.T) {
	want := map[string]string{"fhn": "fhn", "maze": "table1", "reacher": "table1", "ball": "pixels", "hopper": "ahead", "noise": "ahead", "modes": "segmentation", "bounce": "segmentation", "sticky": "segmentation", "nascar": "segmentation", "lorenz": "segmentation"}
	recorded := eval.ProtocolsFor("files", nil)
	if len(recorded) != 3 || recorded[0].Name != "recordings" || recorded[2].Name != "validation" {
		t.Fatalf("%d protocols for recordings", len(recorded))
	}
	names := map[string]bool{}
	for _, p := range recorded {
		if _, err := p.Run(eval.Subject{}); err == nil {
			t.Errorf("protocol %s: no error without the recordings", p.Name)
		}
		names[p.Name] = true
	}
	for _, kind := range kinds {
		list := eval.ProtocolsFor(kind, subject(t, kind).Env)
		if got := list[0].Name; got != want[kind] {
			t.Errorf("%s: first %s, want %s", kind, got, want[kind])
		}
		for _, p := range list {
			names[p.Name] = true
		}
	}
	for _, p := range eval.Protocols() {
		if !names[p.Name] || p.Doc == "" {
			t.Errorf("protocol %s fits nothing, or says nothing of itself", p.Name)
		}
	}
}
