package lead

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
)

// newSession is a session of a run of some steps with so many workers.
func newSession(t *testing.T, carrier Carrier, workers int, preset string, arguments ...string) *Session {
	t.Helper()
	resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: preset, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	p, err := job.Prepare(resolved.Config, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	log := hclog.NewNullLogger()
	transport, err := Embed(carrier, log)
	if err != nil {
		t.Fatal(err)
	}
	return &Session{Plan: p, Transport: transport, Workers: workers, Slots: 1, Log: log, WorkerLog: log}
}

// TestTrain_SameBits: a run has the same parameters for any workers and any carrier, and show is called for its last
// step.
func TestTrain_SameBits(t *testing.T) {
	want := map[string]string{}
	started := []string{"model.start=arhmm", "train.steps=4", "train.validate_every=4", "train.checkpoint_every=0"}
	for _, c := range []struct {
		carrier   Carrier
		workers   int
		preset    string
		arguments []string
	}{
		{Direct, 1, "noise/smoke", nil},
		{Direct, 3, "noise/smoke", nil},
		{Broker, 2, "noise/smoke", nil},
		{TCP, 2, "noise/smoke", nil},
		{Direct, 1, "modes/smoke", started},
		{Direct, 3, "modes/smoke", started},
	} {
		s := newSession(t, c.carrier, c.workers, c.preset, c.arguments...)
		run, err := store.Create(t.TempDir(), store.Draft{Name: "a", Config: s.Plan.Config.YAML()})
		if err != nil {
			t.Fatal(err)
		}
		var shown terminal.Progress
		if err := s.Train(t.Context(), run, func(p terminal.Progress) { shown = p }); err != nil {
			t.Fatal(err)
		}
		info := run.Info()
		if err := run.Close(); err != nil {
			t.Error(err)
		}
		if want[c.preset] == "" {
			want[c.preset] = info.ParametersSHA256
		}
		if info.ParametersSHA256 != want[c.preset] || shown.Step != s.Plan.Config.Train.Steps || info.Step != shown.Step {
			t.Errorf("%s, %d workers: step %d with %s, shown %d; want %s", c.carrier, c.workers, info.Step, info.ParametersSHA256, shown.Step, want[c.preset])
		}
	}
}

// TestTrain_ContinuesARenamedRun: its checkpoints have the old name, its folder has the new one.
func TestTrain_ContinuesARenamedRun(t *testing.T) {
	dir, log := t.TempDir(), hclog.NewNullLogger()
	whole := recorded(t, dir, "whole")
	opened, err := Make(whole.config, dir, job.Origin{Name: "a"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	half := whole.log.Last / 2
	err = opened.Train(ctx, 1, 1, log, func(p terminal.Progress) {
		if p.Step == half {
			stop()
		}
	})
	if !errors.Is(err, coordinator.ErrInterrupted) {
		t.Fatalf("got %v", err)
	}
	if err := store.Rename(dir, "a", "b"); err != nil {
		t.Fatal(err)
	}
	place := Place{Kinds: config.Builtin().Kinds(), RunsDir: dir, Command: func(...string) string { return "" }}
	if opened, err = Reopen(place, "b", 1); err != nil {
		t.Fatal(err)
	}
	if err := opened.Train(t.Context(), 1, 1, log, func(terminal.Progress) {}); err != nil {
		t.Fatal(err)
	}
	renamed, err := Open(place.Kinds, dir, "b")
	if err != nil {
		t.Fatal(err)
	}
	with := Options{Workers: 1, Show: func(Progress) {}, Log: log}
	d, err := Diff(t.Context(), whole, renamed, with)
	if err != nil || !d.Equal || d.Common != whole.log.Last {
		t.Errorf("the renamed run differs from an uninterrupted one: %+v, %v", d, err)
	}
	if v, err := Verify(t.Context(), renamed, half+1, 0, with); err != nil || !v.Equal || v.Start != half {
		t.Errorf("verified: %+v, %v", v, err)
	}
}

// TestLead_EndsWithoutWorkers: a run that no worker can join any more ends with an error that says why.
func TestLead_EndsWithoutWorkers(t *testing.T) {
	s := newSession(t, Direct, 2, "noise/smoke")
	defer s.Transport.Close()
	cfg := s.Plan.Lead("a", t.TempDir())
	cfg.Numerics[0].Sum++ // workers here have other arithmetic
	if _, err := s.Prepare(t.Context(), cfg, coordinator.Silent{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Lead(t.Context()); !errors.Is(err, ErrNoWorkers) || errors.Is(err, coordinator.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
}

// TestEnding_ADiskThatTookNothing: a run whose last checkpoint could not be written is not lost. The next coordinator
// goes on with it, as the disk may have room by then.
func TestEnding_ADiskThatTookNothing(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "checkpoints/step-7.safetensors", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err  error
		want store.State
	}{
		{nil, store.Finished},
		{coordinator.ErrInterrupted, store.Interrupted},
		{fmt.Errorf("write term 3: %w", full), store.Interrupted},
		{errors.Join(coordinator.ErrInterrupted, full), store.Interrupted},
		{coordinator.ErrDiverged, store.Failed},
	} {
		state, reason := ending(&store.Info{}, c.err, errShutdown)
		if state != c.want || c.err != nil && reason == "" {
			t.Errorf("%v: %s, %q, want %s", c.err, state, reason, c.want)
		}
	}
}
