package coordinator_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
)

// gated runs test beside a run with a gate, on which an honest worker with a key of its own works for some seconds. The
// thief has another key.
func gated(t *testing.T, test func(gate *wire.Gate, c *coordinator.Coordinator, thief *client)) {
	synctest.Test(t, func(t *testing.T) {
		bus, cfg := wire.NewMemory(nil), config(t)
		cfg.Steps, cfg.ValidateEvery, cfg.CheckpointEvery = 1<<40, 0, 0
		cfg.Gate = wire.NewGate(nil)
		c := newCoordinator(t, cfg, bus, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = c.Run(ctx) // it is interrupted
		}()
		w, err := newWorker(bus.With("UHONEST"), "honest", &toy{size: toySize, delay: 5 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		left := make(chan error, 1)
		go func() { left <- w.Run(ctx) }()
		for c.Stats().Step < 10 {
			time.Sleep(10 * time.Millisecond)
		}
		test(cfg.Gate, c, newClient(t, bus.With("UTHIEF"), "evil"))
		step := c.Stats().Step
		time.Sleep(10 * time.Second)
		if now := c.Stats().Step; now < step+100 {
			t.Errorf("the run stands still: %d steps, then %d", step, now)
		}
		if cfg.Gate.Banned("UHONEST") {
			t.Errorf("the honest worker is banned: %+v", cfg.Gate.Bans())
		}
		cancel()
		if err := <-left; err != nil {
			t.Error(err)
		}
		<-ended
	})
}

// members are how many members of a run have a key.
func members(c *coordinator.Coordinator, key string) (n int) {
	for _, m := range c.Stats().Members {
		if _, k := wire.SplitName(m.ID); k == key {
			n++
		}
	}
	return n
}

// A flood on the subject of messages or of chunks is cut off before it is looked at.
func TestGated_Floods(t *testing.T) {
	for name, flood := range map[string]func(*client){
		"messages": func(c *client) { c.send(c.subjects.Control, &wire.Need{}) },
		"chunks":   func(c *client) { c.send(c.subjects.Data, &wire.Chunk{Data: make([]byte, 10)}) },
		"garbage":  func(c *client) { c.publish(c.subjects.Control, []byte("GET /")) },
		"noise":    func(c *client) { c.publish(c.subjects.Data, []byte("GET /")) },
	} {
		t.Run(name, func(t *testing.T) {
			gated(t, func(gate *wire.Gate, c *coordinator.Coordinator, thief *client) {
				seen := total(c.Rejections())
				for range 20_000 {
					flood(thief)
				}
				time.Sleep(time.Second)
				if !gate.Banned("UTHIEF") {
					t.Errorf("it is not banned: %+v", gate.Offenders())
				}
				if n := total(c.Rejections()) - seen; n > 10_000 {
					t.Errorf("%d messages of the flood were looked at", n)
				}
			})
		})
	}
}

// total is how many messages were refused.
func total(list []coordinator.Rejection) (n int64) {
	for _, r := range list {
		n += r.Count
	}
	return n
}

// The holder of one key can make up so many members, and no more; they go when the key is banned.
func TestGated_MembersOfOneKey(t *testing.T) {
	gated(t, func(gate *wire.Gate, c *coordinator.Coordinator, thief *client) {
		for i := range 2000 {
			thief.send(thief.subjects.Control, &wire.Hello{Header: wire.Header{From: fmt.Sprint("evil", i), Token: uint64(i) + 1}, Slots: 4})
		}
		time.Sleep(2 * time.Second)
		if n := members(c, "UTHIEF"); n == 0 || n > 1024 {
			t.Errorf("%d members with one key", n)
		}
		if n := members(c, "UHONEST"); n != 1 {
			t.Errorf("%d honest members", n)
		}
		gate.SetBans([]wire.Ban{{Key: "UTHIEF"}})
		time.Sleep(2 * time.Second)
		if n := members(c, "UTHIEF"); n != 0 {
			t.Errorf("%d members with a banned key", n)
		}
	})
}

// comesToBeCutOff says Hello under a name and a token with a number, and commits offences.
func (c *client) comesToBeCutOff(i int) {
	h := wire.Header{From: fmt.Sprint("evil", i), Token: uint64(i) + 1}
	c.send(c.subjects.Control, &wire.Hello{Header: h, Slots: 1})
	for range 5 { // an offence each
		c.send(c.subjects.Control, &wire.Ready{Header: h, Size: toySize, Terms: []string{"loss", "kl"}})
		h.Run = "another"
	}
}

// Who comes under ever new tokens and goes on being cut off gets its key banned; those who are cut off now and then do
// not.
func TestGated_CutOffUnderEverNewTokens(t *testing.T) {
	for name, c := range map[string]struct {
		pause  time.Duration
		banned bool
	}{"at once": {50 * time.Millisecond, true}, "now and then": {10 * time.Second, false}} {
		t.Run(name, func(t *testing.T) {
			gated(t, func(gate *wire.Gate, run *coordinator.Coordinator, thief *client) {
				for i := range 40 {
					thief.comesToBeCutOff(i)
					time.Sleep(c.pause)
				}
				if gate.Banned("UTHIEF") != c.banned {
					thief.t.Errorf("banned: %v, want %v; %d were cut off", !c.banned, c.banned, len(run.Stats().Quarantined))
				}
			})
		})
	}
}

// Parameters are sent on demand so often as honest workers need them, and not as often as somebody asks.
func TestGated_ParametersOnDemand(t *testing.T) {
	gated(t, func(_ *wire.Gate, c *coordinator.Coordinator, thief *client) {
		thief.join()
		sent := 0
		for range 100 {
			for range 20 { // each is within what may be asked
				thief.send(thief.subjects.Control, &wire.Hello{Slots: 1})
				thief.send(thief.subjects.Control, &wire.Ready{Size: toySize, Terms: []string{"loss", "kl"}})
			}
			time.Sleep(100 * time.Millisecond)
			for len(thief.inbox) > 0 {
				if _, ok := (<-thief.inbox).(*wire.Theta); ok {
					sent++
				}
			}
		}
		chunks := wire.NewChunking(toySize, 1024).Count()
		if all := 1500 * chunks; sent == 0 || sent > all {
			t.Errorf("%d chunks of parameters were sent to one worker, at most %d are to be", sent, all)
		}
	})
}

// Many members with one key that deliver nothing get it banned; a few do not, nor do some among others that deliver.
func TestGated_IdleMembersOfOneKey(t *testing.T) {
	for name, c := range map[string]struct {
		idle, honest int
		banned       bool
	}{
		"many":                  {64, 0, true},
		"a few":                 {15, 0, false},
		"many, with one honest": {64, 1, true},
		"some among others":     {20, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			gated(t, func(gate *wire.Gate, _ *coordinator.Coordinator, thief *client) {
				t := thief.t // of the bubble
				ctx, cancel := context.WithCancel(t.Context())
				for i := range c.honest {
					w, err := newWorker(thief.bus, fmt.Sprint("fair", i), &toy{size: toySize, delay: 20 * time.Millisecond})
					if err != nil {
						t.Fatal(err)
					}
					go w.Run(ctx)
				}
				time.Sleep(time.Second)
				for i := range c.idle {
					silent(ctx, t, thief.bus, config(t), fmt.Sprint("idle", i), beats)
				}
				for began := time.Now(); !gate.Banned("UTHIEF") && time.Since(began) < 45*time.Second; {
					time.Sleep(time.Second)
				}
				if gate.Banned("UTHIEF") != c.banned {
					t.Errorf("banned: %v, want %v: %+v", !c.banned, c.banned, gate.Bans())
				}
				cancel()
				time.Sleep(10 * time.Second) // they end
			})
		})
	}
}
