package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// An intruder has the permissions of a worker: it may say what it likes to the coordinator and hears all that is said
// to workers, but does not know their tokens. Whatever it does, the run ends with its bits and no honest worker is cut
// off.
func TestRun_Intruder(t *testing.T) {
	for name, act := range map[string]func(*client){
		"forges the messages of others":        forge,
		"lies":                                 lie,
		"lies and goes away":                   lieAndLeave,
		"announces and does not deliver":       promise,
		"stalls while its heart beats":         stall,
		"floods with messages that are no use": flood,
		"sends NaN under ever new identities":  nanUnderMany,
		"denies what others compute":           deny,
		"takes the id of another":              takeID,
	} {
		t.Run(name, func(t *testing.T) {
			here := name == "lies and goes away"
			synctest.Test(t, func(t *testing.T) { intrude(t, here, act) })
		})
	}
}

// intrude trains with two honest workers and one that acts; audits are done here if it comes under many names.
func intrude(t *testing.T, here bool, act func(*client)) {
	bus, cfg := wire.NewMemory(func(string, []byte) []time.Duration { return []time.Duration{time.Millisecond} }), config(t)
	cfg.Audit, cfg.AuditHere, cfg.Referee, cfg.Golden = 1, here, trusted(toySize), goldenShard(toySize)
	obs := &events{}
	c := newCoordinator(t, cfg, bus, obs)
	evil := newClient(t, bus, "evil")
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context()) }()
	for _, id := range []string{"a", "b"} {
		defer startWorker(t, t.Context(), bus, worker.Config{ID: id}, func() *toy { return &toy{size: toySize, delay: 50 * time.Millisecond} })()
	}
	ended := make(chan struct{})
	evil.ended = ended
	acted := make(chan struct{})
	go func() {
		defer close(acted)
		act(evil)
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Minute):
		t.Fatalf("the run does not end: %+v", c.Stats())
	}
	close(ended)
	<-acted
	theta, _ := c.Parameters()
	if sha := checkpoint.Hash(theta); sha != golden {
		t.Errorf("SHA-256 %s, want %s", sha, golden)
	}
	for _, id := range c.Stats().Quarantined {
		if id == "a" || id == "b" {
			t.Errorf("worker %s was cut off: %v", id, c.Rejections())
		}
	}
	for _, m := range obs.members {
		if m.Left == "a" || m.Left == "b" {
			t.Errorf("worker %s left: %s", m.Left, m.Reason)
		}
	}
	if t.Failed() {
		t.Logf("%+v\n%v", c.Stats(), c.Rejections())
	}
}

// over reports whether the run has ended.
func (c *client) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// hear waits for the next message, or the end of the run.
func (c *client) hear() wire.Message {
	select {
	case m := <-c.inbox:
		return m
	case <-c.ended:
		return nil
	case <-time.After(time.Second):
		return nil
	}
}

// enter becomes a member that gets leases.
func (c *client) enter() {
	for welcomed := false; !welcomed && !c.over(); {
		c.send(c.subjects.Control, &wire.Hello{Slots: 1})
		_, welcomed = c.hear().(*wire.Welcome)
	}
	c.send(c.subjects.Control, &wire.Ready{
		Size: toySize, Terms: []string{"loss", "kl"}, Golden: goldenShard(toySize), Job: wire.HashData(nil),
	})
}

// work plays a worker whose every answer to a lease is the given one, until it is refused or the run ends. It beats.
func (c *client) work(answer func(*wire.Lease) *wire.Result, chunk func(l *wire.Lease, i int) []byte) (refused *wire.Refusal) {
	leases := map[uint64]*wire.Lease{}
	step, beaten := uint64(0), time.Now()
	for !c.over() {
		beat := &wire.Heartbeat{Step: step}
		for id := range leases {
			beat.Running = append(beat.Running, wire.Progress{Lease: id})
		}
		switch m := c.hear().(type) {
		case *wire.Refusal:
			return m
		case *wire.Introduce:
			c.term = m.Term
			c.enter()
		case *wire.Lease:
			if m.Step > step {
				step = m.Step
				clear(leases)
			}
			leases[m.ID] = m
			if r := answer(m); r != nil {
				c.send(c.subjects.Control, r)
			}
		case *wire.Pull:
			for i := m.First; chunk != nil && leases[m.Lease] != nil && i < m.First+m.Count; i++ {
				data := chunk(leases[m.Lease], i)
				c.send(c.subjects.Data, &wire.Chunk{Lease: m.Lease, Step: step, Index: i, CRC: wire.Checksum(data), Data: data})
			}
		}
		if time.Since(beaten) >= time.Second {
			beaten = time.Now()
			c.send(c.subjects.Control, beat)
		}
	}
	return nil
}

var chunking = wire.NewChunking(toySize, 1024)

// announced is a well-formed Result for a vector.
func announced(l *wire.Lease, x []float32, terms []float32) *wire.Result {
	r := result(l)
	r.Terms = terms
	if l.Audit || l.Work == wire.Validate {
		r.Length = 0
	} else {
		var sums []uint32
		for i := range chunking.Count() {
			sums = append(sums, wire.Checksum(part(x, i)))
		}
		r.Checksum = wire.Combine(sums)
	}
	if l.Audit {
		r.Digest = wire.DigestPartial(x, terms)
	}
	return r
}

func part(x []float32, i int) []byte {
	from, to := chunking.Span(i)
	return wire.FloatBytes(x[from:to])
}

// lie answers every lease with zeros, or confirms them.
func lie(c *client) {
	zeros := make([]float32, toySize)
	c.enter()
	answer := func(l *wire.Lease) *wire.Result { return announced(l, zeros, []float32{1, 2}) }
	if r := c.work(answer, func(_ *wire.Lease, i int) []byte { return part(zeros, i) }); r == nil || !strings.Contains(r.Reason, "differs") || r.Remedy == "" {
		c.t.Errorf("the liar was told %+v", r)
	}
}

// deny computes what it is given, and denies what others computed.
func deny(c *client) {
	bus := &severable{Bus: c.bus, alter: func(data []byte) []byte { return denied(data, true) }}
	w, err := newWorker(bus, c.id, &toy{size: toySize, delay: 50 * time.Millisecond})
	if err != nil {
		c.t.Error(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-c.ended
		cancel()
	}()
	if err := w.Run(ctx); !errors.Is(err, worker.ErrRefused) {
		c.t.Errorf("it was not cut off: %v", err)
	}
}

// lieAndLeave lies once under each of many names, and says goodbye before it is found out.
func lieAndLeave(c *client) {
	zeros := make([]float32, toySize)
	for i := 0; i < 20 && !c.over(); i++ {
		one := newClient(c.t, c.bus, fmt.Sprint("evil", i))
		one.ended = c.ended
		one.enter()
		for left := false; !left && !c.over(); {
			switch m := one.hear().(type) {
			case *wire.Lease:
				one.send(one.subjects.Control, announced(m, zeros, []float32{1, 2}))
			case *wire.Pull:
				for i := m.First; i < m.First+m.Count; i++ {
					one.send(one.subjects.Data, &wire.Chunk{Lease: m.Lease, Index: i, CRC: wire.Checksum(part(zeros, i)), Data: part(zeros, i)})
				}
				one.send(one.subjects.Control, &wire.Bye{})
				left = true
			case nil, *wire.Refusal:
				left = true
			}
		}
	}
}

// promise announces at once, and delivers nothing.
func promise(c *client) {
	c.enter()
	c.work(func(l *wire.Lease) *wire.Result { return announced(l, make([]float32, toySize), []float32{1, 2}) }, nil)
}

// stall takes every lease, and is always busy with it.
func stall(c *client) {
	c.enter()
	c.work(func(*wire.Lease) *wire.Result { return nil }, nil)
}

// forge speaks in the names of the others, and repeats what it hears.
func forge(c *client) {
	var leases []*wire.Lease
	for _, id := range []string{"a", "b"} { // it hears what is said to them
		sub, err := c.bus.Subscribe(c.subjects.Worker(id), func(data []byte) {
			if m, err := wire.Decode(data); err == nil {
				c.inbox <- m
			}
		})
		if err != nil {
			c.t.Fatal(err)
		}
		defer sub.Unsubscribe()
	}
	for !c.over() {
		time.Sleep(20 * time.Millisecond)
		for n := len(c.inbox); n > 0; n-- {
			if l, ok := (<-c.inbox).(*wire.Lease); ok {
				leases = append(leases, l)
			}
		}
		for _, id := range []string{"a", "b"} {
			h := wire.Header{From: id}
			c.send(c.subjects.Control, &wire.Hello{Header: h, Slots: 1})
			c.send(c.subjects.Control, &wire.Ready{Header: h, Size: 3})
			c.send(c.subjects.Control, &wire.Heartbeat{Header: h, Step: 1000})
			for _, l := range leases[max(0, len(leases)-4):] {
				r := announced(l, make([]float32, toySize), []float32{1, 2})
				r.From = id
				c.send(c.subjects.Control, r)
				c.send(c.subjects.Data, &wire.Chunk{Header: h, Lease: l.ID, Step: l.Step, CRC: wire.Checksum(nil)})
			}
			c.send(c.subjects.Control, &wire.Bye{Header: h})
		}
	}
}

// flood sends what is refused, as member and as stranger, until it is cut off.
func flood(c *client) {
	c.enter()
	for range 100 {
		for range 100 {
			c.send(c.subjects.Control, &wire.Result{Step: 99})
			c.send(c.subjects.Data, &wire.Chunk{Lease: 1, Step: 99})
			c.publish(c.subjects.Control, []byte("garbage"))
			c.send(c.subjects.Control, &wire.Result{Header: wire.Header{From: "stranger"}})
		}
		time.Sleep(time.Millisecond)
	}
	for m := c.hear(); m != nil; m = c.hear() {
		if _, refused := m.(*wire.Refusal); refused {
			return
		}
	}
	c.t.Error("it was not cut off")
}

// nanUnderMany delivers NaN, under a new name each time that it is cut off, and under two at a time.
func nanUnderMany(c *client) {
	bad := make([]float32, toySize)
	bad[7] = float32(math.NaN())
	lives := make(chan struct{})
	for side := range 2 {
		go func() {
			defer func() { lives <- struct{}{} }()
			for i := 0; i < 10 && !c.over(); i++ {
				one := newClient(c.t, c.bus, fmt.Sprint("evil", side, i))
				one.ended = c.ended
				one.enter()
				one.work(func(l *wire.Lease) *wire.Result {
					terms := []float32{1, 2}
					if l.Audit || l.Work == wire.Validate {
						terms[0] = float32(math.NaN())
					}
					return announced(l, bad, terms)
				}, func(_ *wire.Lease, i int) []byte { return part(bad, i) })
			}
		}()
	}
	<-lives
	<-lives
}

// takeID works under the id of another worker, and stalls: what is sent to it, the other hears, too.
func takeID(c *client) {
	one := newClient(c.t, c.bus, "a")
	one.ended = c.ended
	stall(one)
}

// Without a referee an honest majority decides as well.
func TestRun_LiarAndMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, cfg := wire.NewMemory(nil), config(t)
		cfg.Audit = 1
		c := newCoordinator(t, cfg, bus, nil)
		done := make(chan error, 1)
		go func() { done <- c.Run(t.Context()) }()
		honest := func() *toy { return &toy{size: toySize, delay: 50 * time.Millisecond} }
		for _, id := range []string{"a", "b", "c"} {
			defer startWorker(t, t.Context(), bus, worker.Config{ID: id}, honest)()
		}
		time.Sleep(time.Second) // three are there
		w, err := newWorker(bus, "liar", &toy{size: toySize, delay: 50 * time.Millisecond, spoil: func(_ uint64, _ int, grad []float32) error {
			grad[3]++
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Run(t.Context()); !errors.Is(err, worker.ErrRefused) {
			t.Errorf("the liar ends with %v", err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		theta, _ := c.Parameters()
		if sha := checkpoint.Hash(theta); sha != golden {
			t.Errorf("SHA-256 %s, want %s", sha, golden)
		}
		if q := c.Stats().Quarantined; !slices.Equal(q, []string{"liar"}) {
			t.Errorf("cut off: %v", q)
		}
	})
}
