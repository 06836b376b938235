package coordinator_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// relayed runs a configuration whose workers hand on the parameters, each over the bus that is made for it, and returns
// the parameters and the figures.
func relayed(t *testing.T, parameters wire.Coding, workers int, over func(i int, bus wire.Bus) wire.Bus) (sha string, stats coordinator.Stats) {
	t.Helper()
	cfg, memory := config(t), wire.NewMemory(nil)
	cfg.Parameters, cfg.Exchange = parameters, coordinator.Sharded
	c := newCoordinator(t, cfg, memory, nil)
	for i := range workers {
		defer startWorker(t, t.Context(), over(i, memory), worker.Config{ID: fmt.Sprint("w", i)}, func() *toy { return &toy{size: toySize, delay: time.Millisecond} })()
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	theta, _ := c.Parameters()
	return checkpoint.Hash(theta), c.Stats()
}

// plainly is the bus of an honest worker.
func plainly(_ int, bus wire.Bus) wire.Bus { return bus }

// Parameters that workers hand on are those that the coordinator sends, whole or as differences, and none has to be sent
// twice.
func TestRun_RelayedSameBits(t *testing.T) {
	for parameters, want := range map[wire.Coding]string{wire.Float32: golden, wire.Int16: goldenDelta16, wire.Int8: goldenDelta8} {
		for workers := 1; workers <= 8; workers++ {
			synctest.Test(t, func(t *testing.T) {
				sha, stats := relayed(t, parameters, workers, plainly)
				if sha != want {
					t.Errorf("coding %d, %d workers: SHA-256 %s, want %s", parameters, workers, sha, want)
				}
				if workers == 1 && stats.Relayed > 0 || workers > 1 && stats.Relayed < 25 || stats.Unrelayed > 0 {
					t.Errorf("coding %d, %d workers: handed on %d times, %d chunks were asked for", parameters, workers, stats.Relayed, stats.Unrelayed)
				}
			})
		}
	}
}

// One of four workers hands on nothing, something else, something old, in a wrong place, or far too often, and does so
// whenever it can. No bit changes, it soon hands on nothing any more, and nobody is cut off.
func TestRun_HostileRelay(t *testing.T) {
	names := []string{"withheld", "changed", "stale", "misplaced", "flooded"}
	for parameters, want := range map[wire.Coding]string{wire.Float32: golden, wire.Int8: goldenDelta8} {
		for way := range mistellings {
			synctest.Test(t, func(t *testing.T) {
				var evil *misteller
				sha, stats := relayed(t, parameters, 4, func(i int, bus wire.Bus) wire.Bus {
					if i != 1 {
						return bus
					}
					evil = newMisteller(bus, func(int) (int, bool) { return way, true })
					return evil
				})
				if sha != want {
					t.Errorf("%s, coding %d: SHA-256 %s, want %s", names[way], parameters, sha, want)
				}
				if len(stats.Quarantined) > 0 || stats.Relayed < 15 {
					t.Errorf("%s, coding %d: %v were cut off, parameters were handed on %d times", names[way], parameters, stats.Quarantined, stats.Relayed)
				}
				if n := len(evil.steps); n == 0 || way != flooded && (n > 10 || stats.Unrelayed == 0) || way == flooded && stats.Unrelayed > 0 {
					t.Errorf("%s, coding %d: it was to hand on in %d steps, %d chunks were asked for", names[way], parameters, n, stats.Unrelayed)
				}
				t.Logf("%s, coding %d: in %d steps, %d chunks asked for, handed on %d times", names[way], parameters, len(evil.steps), stats.Unrelayed, stats.Relayed)
			})
		}
	}
}

// A worker that withholds parameters from one other has that one served by the coordinator. One that asks for what it
// has, to accuse others, is served so, too, and the others go on handing on among themselves.
func TestRun_RelayAgainstOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		evil := (*picky)(nil)
		sha, stats := relayed(t, wire.Float32, 4, func(i int, bus wire.Bus) wire.Bus {
			if i != 1 {
				return bus
			}
			evil = &picky{Bus: bus, victim: "sy.toy.peer.open.w2.open"}
			return evil
		})
		if sha != golden || len(stats.Quarantined) > 0 || stats.Relayed < 25 || evil.kept == 0 || evil.kept > 24 {
			t.Errorf("SHA-256 %s, cut off %v, handed on %d times, %d chunks withheld", sha, stats.Quarantined, stats.Relayed, evil.kept)
		}
	})
}

// picky hands parameters on to all but one.
type picky struct {
	wire.Bus
	victim string
	kept   int
}

func (b *picky) Publish(subject string, data []byte) error {
	if m, err := wire.Decode(data); err == nil && subject == b.victim {
		if _, ok := m.(*wire.Theta); ok {
			b.kept++
			return nil
		}
	}
	return b.Bus.Publish(subject, data)
}

// A worker that dies while it hands on costs no bit.
func TestRun_RelayDies(t *testing.T) {
	for after := range 8 {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			sha, stats := relayed(t, wire.Int8, 4, func(i int, bus wire.Bus) wire.Bus {
				if i != 1 {
					return bus
				}
				mortal := &severable{Bus: bus}
				mortal.alter = func(data []byte) []byte {
					if m, err := wire.Decode(data); err == nil && wire.TypeOf(m) == wire.KindTheta {
						if sent++; sent > 10+after {
							mortal.cut.Store(true)
						}
					}
					return data
				}
				return mortal
			})
			if sha != goldenDelta8 || len(stats.Quarantined) > 0 || sent < 10 {
				t.Errorf("after %d chunks: SHA-256 %s, %d sent, %+v", 10+after, sha, sent, stats)
			}
		})
	}
}
