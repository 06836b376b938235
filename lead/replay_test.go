package lead

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
)

// trained leaves the record of a run in a folder.
func recorded(t *testing.T, dir, name string, arguments ...string) *Record {
	t.Helper()
	resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "noise/smoke", Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	p, err := job.Prepare(resolved.Config, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	log := hclog.NewNullLogger()
	transport, err := Embed(Direct, log)
	if err != nil {
		t.Fatal(err)
	}
	run, err := store.Create(dir, store.Draft{Name: name, Config: p.Config.YAML()})
	if err != nil {
		t.Fatal(err)
	}
	s := Session{Plan: p, Transport: transport, Workers: 2, Slots: 1, Log: log, WorkerLog: log}
	if err := errors.Join(s.Train(t.Context(), run, func(terminal.Progress) {}), run.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := Open(config.Builtin().Kinds(), dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The findings are returned, and Show is called for each step and at the end.
func TestReplay_FindsAndTells(t *testing.T) {
	dir := t.TempDir()
	a, b := recorded(t, dir, "a"), recorded(t, dir, "b", "optim.rate=1e-3")
	var shown []Progress
	with := Options{Workers: 1, Show: func(p Progress) { shown = append(shown, p) }, Log: hclog.NewNullLogger()}
	v, err := Verify(t.Context(), a, 2, 4, with)
	if err != nil || !v.Equal || v.From != 2 || v.To != 4 || v.Missing != 0 {
		t.Errorf("got %+v, %v", v, err)
	}
	if n := len(shown); n < 2 || !shown[n-1].Over || shown[n-1].Step != 4 || shown[n-2] != (Progress{Run: "a", Step: 4, To: 4}) {
		t.Errorf("shown: %+v", shown)
	}
	if _, err := Verify(t.Context(), a, 3, 2, with); !errors.Is(err, config.ErrUsage) {
		t.Errorf("steps 3 to 2: got %v", err)
	}
	d, err := Diff(t.Context(), a, b, with)
	if err != nil || d.Equal || d.Step != 1 || len(d.Keys) != 1 || d.Keys[0].Key != "optim.rate" || d.Place != nil {
		t.Errorf("got %+v, %v", d, err)
	}
	// Their optimisers remember different things.
	c := recorded(t, dir, "c", "optim.average=0.9", "optim.decay_every=4")
	for _, pair := range [][2]*Record{{a, c}, {c, a}} {
		d, err := Diff(t.Context(), pair[0], pair[1], with)
		if err != nil || d.Step != 5 || !strings.Contains(d.Note, "the updates differ by the configuration") {
			t.Errorf("got %+v, %v", d, err)
		}
	}
}

// TestDiff_BehindACheckpoint: runs that part in the step after a checkpoint are compared at that, which is all that is to
// be recomputed.
func TestDiff_BehindACheckpoint(t *testing.T) {
	dir := t.TempDir()
	a := recorded(t, dir, "a", "train.checkpoint_every=4", "optim.decay_every=4", "optim.decay=0.5")
	b := recorded(t, dir, "b", "train.checkpoint_every=4", "optim.decay_every=4", "optim.decay=0.9")
	d, err := Diff(t.Context(), a, b, Options{Workers: 1, Show: func(Progress) {}, Log: hclog.NewNullLogger()})
	if err != nil || d.Step != 5 || !strings.Contains(d.Note, "the updates differ by the configuration") {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestOpen_NoSuchRun(t *testing.T) {
	if _, err := Open(config.Builtin().Kinds(), t.TempDir(), "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
