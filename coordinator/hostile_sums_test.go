package coordinator_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// One of four workers lies about the sums that it is to form, or about what it keeps for others, each time that it can and
// in one way. No bit changes, no honest worker is cut off, and the run ends. docs/results/attacks.md has the figures.
func TestRun_HostileReducer(t *testing.T) {
	hostileSums(t, true, -1, "nothing wrong", false)
	for way, name := range []string{"a wrong sum", "other sections", "a stale term", "a sum that is announced and withheld", "an accusation of others", "nothing"} {
		hostileSums(t, true, way, name, way == 0)
	}
	for way, name := range []string{"what it keeps is withheld", "what it keeps is changed", "what it keeps is sent six times"} {
		hostileSums(t, false, way, name, false)
	}
}

func hostileSums(t *testing.T, reduces bool, way int, name string, found bool) {
	synctest.Test(t, func(t *testing.T) {
		cfg, bus, begun, struck := simulatedConfig(t), wire.NewMemory(nil), time.Now(), 0
		cfg.Exchange, cfg.Audit, cfg.Referee = coordinator.Sharded, 1, trusted(simulatedSize)
		cfg.Steps = 12
		c := simulatedCoordinator(t, cfg, bus, nil)
		thief := newThief(bus, reduces, 1.5, func(int) (int, bool) {
			struck++
			return way, way >= 0
		})
		program := func() *toy { return &toy{size: simulatedSize, delay: time.Millisecond} }
		build := func([]byte, []byte, int) (worker.Program, error) { return program(), nil }
		w, err := worker.New(worker.Config{Run: "toy", ID: "w1", Numerics: cfg.Numerics, Build: build}, thief, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		defer func() { end(); <-done }() // it may have been refused
		for _, id := range []string{"w0", "w2", "w3"} {
			defer startWorker(t, t.Context(), bus, worker.Config{ID: id, Numerics: cfg.Numerics}, program)()
		}
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		theta, _ := c.Parameters()
		stats, want := c.Stats(), simulated()[form{}]
		if sha := checkpoint.Hash(theta); sha != want {
			t.Errorf("%s: SHA-256 %s, want %s", name, sha, want)
		}
		if cut := stats.Quarantined; len(cut) > 0 && !slices.Equal(cut, []string{"w1"}) || found && struck > 0 && len(cut) == 0 && stats.Doubted == 0 {
			t.Errorf("%s: cut off were %v", name, cut)
		}
		t.Logf("| %s | %d | %d | %d | %v | %.1f s |", name, struck, stats.Summed, stats.Doubted, stats.Quarantined, time.Since(begun).Seconds())
	})
}

// Where nobody audits, a worker that lies about a sum changes the parameters. The log says who it was: its sum is not that
// of the blocks, the sums of the others are, and so are all blocks. The line takes little room.
func TestLog_NamesWhoSummedWrongly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := simulatedConfig(t)
		var mu sync.Mutex
		at := map[uint64][]float32{} // parameters
		liarsRun(t, &cfg, func(step uint64, theta []float32) {
			mu.Lock()
			defer mu.Unlock()
			at[step] = slices.Clone(theta)
		})
		log, err := coordinator.ReadLog(cfg.Log, 0)
		if err != nil {
			t.Fatal(err)
		}
		e := log.Entries[1]
		for e.Step < log.Last && !slices.ContainsFunc(e.Sums, func(s coordinator.Share) bool { return s.Worker == "w1" }) {
			e = log.Entries[e.Step+1]
		}
		chunks := wire.Chunking{Size: simulatedSize, Elements: log.Chunk(e.Term)}
		sections, summed := e.Summed(chunks)
		if !summed || !slices.ContainsFunc(e.Sums, func(s coordinator.Share) bool { return s.Worker == "w1" }) {
			t.Fatalf("the liar has summed nothing: %+v", e)
		}
		compute := func(b vector.Block) vector.Partial {
			values, terms, err := trusted(simulatedSize)(t.Context(), e.Step-1, at[e.Step-1], wire.Gradient, b)
			if err != nil {
				t.Fatal(err)
			}
			return vector.Partial{Values: values, Terms: terms}
		}
		for _, b := range e.Blocks {
			if got := coordinator.BlockDigest(sections, compute(b.Block)); got != b.Fingerprint() {
				t.Errorf("shards %s by %s have digest %s, in the log %s", b.Block, b.Worker, got, b.Fingerprint())
			}
		}
		total := compute(vector.Block{Count: cfg.Shards}).Values
		for _, s := range e.Sums {
			if got := coordinator.ShareDigest(sections, s.Sections, total); (got == s.Digest) != (s.Worker != "w1") {
				t.Errorf("sections %v by %s have digest %s, in the log %s", s.Sections, s.Worker, got, s.Digest)
			}
		}
		whole, err := json.Marshal(e)
		e.Sums, e.Blocks = nil, slices.Clone(e.Blocks)
		for i := range e.Blocks {
			e.Blocks[i].Digest = ""
		}
		before, err2 := json.Marshal(e)
		if err != nil || err2 != nil || 10*len(whole) > 13*len(before) {
			t.Errorf("the line has %d bytes, without evidence %d:\n%s", len(whole), len(before), whole)
		}
	})
}

// A share of audits, of what workers sum alone, finds the liar, and what it did is undone.
func TestRun_SampledAuditOfSums(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := simulatedConfig(t)
		cfg.AuditSums, cfg.Referee = 0.5, trusted(simulatedSize)
		stats, sha := liarsRun(t, &cfg, func(uint64, []float32) {})
		if want := simulated()[form{}]; sha != want || !slices.Equal(stats.Quarantined, []string{"w1"}) {
			t.Errorf("SHA-256 %s, want %s; cut off were %v", sha, want, stats.Quarantined)
		}
	})
}

// liarsRun makes a run of two workers who sum the gradient, one of whom lies about each sum.
func liarsRun(t *testing.T, cfg *coordinator.Config, see func(step uint64, theta []float32)) (stats coordinator.Stats, sha string) {
	bus := wire.NewMemory(nil)
	cfg.Exchange = coordinator.Sharded
	c := simulatedCoordinator(t, *cfg, bus, nil)
	liar := newThief(bus, true, 1.5, func(int) (int, bool) { return 0, true })
	program := func() *toy {
		p := &toy{size: simulatedSize, delay: time.Millisecond}
		p.spoil = func(step uint64, _ int, _ []float32) error {
			see(step, p.theta)
			return nil
		}
		return p
	}
	build := func([]byte, []byte, int) (worker.Program, error) { return program(), nil }
	w, err := worker.New(worker.Config{Run: "toy", ID: "w1", Numerics: cfg.Numerics, Build: build}, liar, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	defer func() { end(); <-done }()
	for _, id := range []string{"w0"} {
		defer startWorker(t, t.Context(), bus, worker.Config{ID: id, Numerics: cfg.Numerics}, program)()
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	theta, _ := c.Parameters()
	return c.Stats(), checkpoint.Hash(theta)
}
