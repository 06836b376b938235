package coordinator

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
)

// state is a state of the run of valid.
func state(step uint64) *Checkpoint {
	x := make([]float32, 6)
	return &Checkpoint{
		Run: "r", Seed: 7, Term: 2, Step: step, BestLoss: math.Inf(1), Theta: x,
		Moments: []checkpoint.Moment{{Name: "adam.m", Values: x}, {Name: "adam.v", Values: x}},
	}
}

func resumed(t *testing.T, dir string, cp *Checkpoint) *Coordinator {
	t.Helper()
	cfg := valid(dir)
	c, err := New(cfg, make([]float32, 6), wire.NewMemory(nil), nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Resume(cp); err != nil {
		t.Fatal(err)
	}
	return c
}

// valid is a configuration for six parameters.
func valid(dir string) Config {
	return Config{
		Run: "r", Seed: 7, Steps: 9, Shards: 1, FailureDetection: 1e9, Chunk: 64, Credit: 128, TermNames: []string{"loss"},
		Dir: dir, Optimizer: Optimizer{Rate: 0.1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
	}
}

// What pruning could not do is told, and the run goes on.
func TestCoordinator_PruningFails(t *testing.T) {
	c, err := New(valid(t.TempDir()), make([]float32, 6), wire.NewMemory(nil), nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	c.saved(saved{cmd: checkpointCommand{state: state(1)}, pruning: errors.New("busy")})
	if c.finished || c.err != nil {
		t.Errorf("the run ended: %v", c.err)
	}
}

// A last checkpoint that cannot be written does not hide that the run diverged.
func TestCoordinator_DivergedAndNotSaved(t *testing.T) {
	for _, before := range []error{nil, ErrDiverged, ErrInterrupted} {
		cfg := valid(t.TempDir())
		cfg.Disk = disk.Faulty(disk.System(), func(disk.Act) (int, error) { return 0, syscall.ENOSPC })
		c, err := New(cfg, make([]float32, 6), wire.NewMemory(nil), nil, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		c.finished, c.err = true, before
		c.saver.save(checkpointCommand{state: state(1)})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.saveLast(ctx)
		if !errors.Is(c.err, syscall.ENOSPC) || errors.Is(c.err, ErrDiverged) != (before == ErrDiverged) || errors.Is(c.err, ErrInterrupted) {
			t.Errorf("after %v: got %v", before, c.err)
		}
	}
}

// A manifest of format 1, which says nothing of job and data, is read.
func TestRestore_FirstFormat(t *testing.T) {
	dir := t.TempDir()
	s := &checkpoint.Store{Dir: dir}
	s.Identity, s.Data = "job", "data"
	if err := s.Write(state(2), false); err != nil {
		t.Fatal(err)
	}
	cp, _, err := checkpoint.Restore(dir)
	if err != nil || cp.Identity != "job" || cp.Data != "data" {
		t.Fatalf("got %+v, %v", cp, err)
	}
	text, err := os.ReadFile(cp.Path)
	if err != nil {
		t.Fatal(err)
	}
	var old []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "job_sha256") && !strings.Contains(line, "data_sha256") {
			old = append(old, strings.Replace(line, `"format": 2`, `"format": 1`, 1))
		}
	}
	if err := os.WriteFile(cp.Path, []byte(strings.Join(old, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	cp, skipped, err := checkpoint.Restore(dir)
	if err != nil || len(skipped) > 0 || cp.Step != 2 || cp.Identity != "" {
		t.Fatalf("got %+v, %v, %v", cp, skipped, err)
	}
	resumed(t, dir, cp)
}
