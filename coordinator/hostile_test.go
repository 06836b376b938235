package coordinator_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// client is a hand-made party that knows the wire format and nothing of fair play.
type client struct {
	t        *testing.T
	bus      wire.Bus
	subjects wire.Subjects
	id       string
	inbox    chan wire.Message
	term     uint64        // 0: 1
	ended    chan struct{} // closed when the run has ended
}

func newClient(t *testing.T, bus wire.Bus, id string) *client {
	s, err := wire.SubjectsOf("toy")
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, bus: bus, subjects: s.By(bus.Key()), id: id, inbox: make(chan wire.Message, 10_000)}
	for _, subject := range []string{s.Worker(wire.Name(id, bus.Key())), s.All} {
		sub, err := bus.Subscribe(subject, func(data []byte) {
			m, err := wire.Decode(data)
			if err != nil {
				t.Errorf("the coordinator sent %x: %v", data, err)
				return
			}
			c.inbox <- m
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { sub.Unsubscribe() })
	}
	return c
}

func (c *client) publish(subject string, data []byte) {
	if err := c.bus.Publish(subject, data); err != nil {
		c.t.Errorf("publish: %v", err)
	}
}

func (c *client) send(subject string, m wire.Message) {
	h := m.Head()
	if h.Run == "" {
		h.Run = "toy"
	}
	if h.From == "" {
		h.From = c.id
	}
	if h.Term == 0 {
		h.Term = max(c.term, 1)
	}
	if h.Token == 0 {
		h.Token = uint64(wire.Checksum([]byte(c.id)))
	}
	data, err := wire.NewEncoder().Encode(m)
	if err != nil {
		c.t.Fatal(err)
	}
	c.publish(subject, data)
}

// next waits for a message of type M and drops others.
func next[M wire.Message](c *client) M {
	for {
		if m, ok := (<-c.inbox).(M); ok {
			return m
		}
	}
}

// join becomes a member that gets leases.
func (c *client) join() {
	c.send(c.subjects.Control, &wire.Hello{Slots: 1})
	next[*wire.Welcome](c)
	c.send(c.subjects.Control, &wire.Ready{Size: toySize, Terms: []string{"loss", "kl"}})
}

// answer announces a gradient for a lease and serves its chunks as they are pulled.
func (c *client) answer(l *wire.Lease, grad []float32) {
	k := wire.NewChunking(toySize, 1024)
	var sums []uint32
	for i := range k.Count() {
		from, to := k.Span(i)
		sums = append(sums, wire.Checksum(wire.FloatBytes(grad[from:to])))
	}
	r := result(l)
	r.Checksum = wire.Combine(sums)
	c.send(c.subjects.Control, r)
	for served := 0; served < k.Count(); {
		p := next[*wire.Pull](c)
		for i := p.First; i < p.First+p.Count; i++ {
			from, to := k.Span(i)
			data := wire.FloatBytes(grad[from:to])
			c.send(c.subjects.Data, &wire.Chunk{Lease: l.ID, Step: l.Step, Index: i, CRC: sums[i], Data: data})
			served++
		}
	}
}

// result is a well-formed announcement for a lease.
func result(l *wire.Lease) *wire.Result {
	return &wire.Result{
		Lease: l.ID, Step: l.Step, Attempt: l.Attempt, Work: l.Work, First: l.First, Count: l.Count,
		Terms: make([]float32, 2), Length: toySize,
	}
}

func overNATS(t *testing.T) (connect func() wire.Bus) {
	server, err := cluster.Start(cluster.Config{Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return func() wire.Bus {
		bus, err := cluster.Connect(cluster.BusConfig{Server: server, Log: hclog.NewNullLogger()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(bus.Close)
		return bus
	}
}

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// Whatever a hand-made NATS client sends, the parameters stay what they are; each kind of offence is counted, and
// logged once.
func TestRun_HostileClient(t *testing.T) {
	t.Parallel()
	connect := overNATS(t)
	cfg, log := config(t), &syncBuffer{}
	cfg.Data, cfg.FailureDetection = dataset(10_000), 20*time.Second // the client never beats
	joined := make(chan string, 10)
	c, err := coordinator.New(cfg, initial(toySize), connect(), joins{&events{}, joined}, hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug}))
	if err != nil {
		t.Fatal(err)
	}
	evil := newClient(t, connect(), "evil")
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context()) }()
	next[*wire.Introduce](evil)
	evil.join()
	l := next[*wire.Lease](evil) // all shards of step 0
	want := offend(evil, l, wire.HashData(cfg.Data))
	again := next[*wire.Lease](evil) // nobody else is there

	defer startWorker(t, t.Context(), connect(), worker.Config{ID: "honest"}, nil)()
	for <-joined != "honest" {
	}
	grad := make([]float32, toySize)
	grad[toySize-1] = float32(math.NaN())
	evil.answer(again, grad)
	want = append(want, coordinator.Rejection{Worker: "evil", Reason: coordinator.ReasonNonFinite, Count: 1})
	for !slices.Contains(c.Rejections(), want[len(want)-1]) { // chunks and control do not keep their order
		time.Sleep(time.Millisecond)
	}
	evil.send(evil.subjects.Control, &wire.Bye{})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	checkRejections(t, c.Rejections(), want)
	theta, _ := c.Parameters()
	if sha := checkpoint.Hash(theta); sha != golden {
		t.Errorf("SHA-256 %s, want %s", sha, golden)
	}
	for _, r := range want {
		who := r.Worker
		if who == "" {
			who = `""`
		}
		if n := strings.Count(log.String(), "worker="+who+" reason="+string(r.Reason)+" "); n != 1 {
			t.Errorf("%v was logged %d times:\n%s", r, n, log.String())
		}
	}
}

// offend commits every offence and returns what is to be counted for it.
func offend(evil *client, l *wire.Lease, data string) []coordinator.Rejection {
	counts := []coordinator.Rejection{}
	expect := func(worker string, reason coordinator.Reason) {
		for i := range counts {
			if counts[i].Worker == worker && counts[i].Reason == reason {
				counts[i].Count++
				return
			}
		}
		counts = append(counts, coordinator.Rejection{Worker: worker, Reason: reason, Count: 1})
	}
	control, chunks := evil.subjects.Control, evil.subjects.Data
	spoil := func(reason coordinator.Reason, change func(*wire.Result)) {
		r := result(l)
		change(r)
		evil.send(control, r)
		who := evil.id
		if r.From != evil.id {
			who = ""
		}
		expect(who, reason)
	}
	for range 2 { // twice, to be logged once
		spoil(coordinator.ReasonStep, func(r *wire.Result) { r.Step = 7 })
		spoil(coordinator.ReasonWorker, func(r *wire.Result) { r.From = "stranger" })
		spoil(coordinator.ReasonTerm, func(r *wire.Result) { r.Term = 9 })
	}
	gang := &gang{t: evil.t, bus: evil.bus, expect: expect}
	for range 2 {
		gang.send(&wire.Result{Lease: l.ID + 1000, Step: l.Step}, coordinator.ReasonLease)
	}
	gang.send(&wire.Ready{Header: wire.Header{Run: "other"}}, coordinator.ReasonRun)
	gang.send(&wire.Lease{ID: 1}, coordinator.ReasonMalformed)
	for _, garbage := range [][]byte{{}, {0xc1}, []byte("GET / HTTP/1.1"), {0xdd, 0xff, 0xff, 0xff, 0xff}} {
		evil.publish(control, garbage)
		expect("", coordinator.ReasonMalformed)
	}
	huge := []byte{0x9a, wire.Version, byte(wire.KindChunk), 0xa3, 't', 'o', 'y', 0xa4, 'e', 'v', 'i', 'l', 1, 1, 1, 1, 1, 0xc6, 0xff, 0xff, 0xff, 0xff}
	evil.publish(chunks, huge)
	expect("", coordinator.ReasonMalformed)
	evil.publish(control, append([]byte{0x97, wire.Version + 1}, huge[2:]...))
	expect("", coordinator.ReasonVersion)
	evil.send(chunks, &wire.Chunk{Lease: l.ID, Step: l.Step, Index: 1 << 20, Data: []byte{1, 2, 3, 4}})
	expect(evil.id, coordinator.ReasonUnrequested)

	offendData(gang, data)
	offendNeed(gang)

	evil.send(control, result(l)) // well-formed: the coordinator pulls
	p := next[*wire.Pull](evil)
	evil.send(control, result(l))
	expect(evil.id, coordinator.ReasonDuplicate)
	good := make([]byte, 1024)
	chunk := func(i int, b []byte, crc uint32) {
		evil.send(chunks, &wire.Chunk{Lease: l.ID, Step: l.Step, Index: i, CRC: crc, Data: b})
	}
	chunk(0, good[:1020], wire.Checksum(good[:1020]))
	expect(evil.id, coordinator.ReasonLength)
	chunk(0, good, wire.Checksum(good)+1)
	expect(evil.id, coordinator.ReasonChecksum)
	chunk(p.Count, good, wire.Checksum(good))
	chunk(1<<30, good, wire.Checksum(good))
	expect(evil.id, coordinator.ReasonUnrequested)
	expect(evil.id, coordinator.ReasonUnrequested)
	chunk(0, good, wire.Checksum(good))
	chunk(0, good, wire.Checksum(good))
	expect(evil.id, coordinator.ReasonDuplicate)
	for i := 1; i < 4; i++ { // all chunks are fine, but they are not what was announced
		b := wire.FloatBytes(make([]float32, min(256, toySize-256*i)))
		chunk(i, b, wire.Checksum(b))
	}
	expect(evil.id, coordinator.ReasonChecksum)

	return counts
}

// gang are members that commit offences, none of them so many that it is cut off.
type gang struct {
	t        *testing.T
	bus      wire.Bus
	expect   func(string, coordinator.Reason)
	one      *client
	names    int
	offences int
}

// member is one of them that may commit an offence more.
func (g *gang) member() *client {
	if g.one == nil || g.offences == 3 {
		g.names++
		g.one, g.offences = newClient(g.t, g.bus, fmt.Sprint("gang", g.names)), 0
		g.one.send(g.one.subjects.Control, &wire.Hello{Slots: 1})
		next[*wire.Welcome](g.one)
	}
	return g.one
}

func (g *gang) send(m wire.Message, reason coordinator.Reason) {
	c := g.member()
	g.offences++
	c.send(c.subjects.Control, m)
	g.expect(c.id, reason)
}

// offendNeed asks for parameters in every way that is not fair: the run has four chunks.
func offendNeed(g *gang) {
	for _, ranges := range [][]wire.Range{
		{{First: 0, Count: 4}, {First: 0, Count: 4}},
		{{First: 2, Count: 2}, {First: 0, Count: 1}},
		{{First: 0, Count: 2}, {First: 1, Count: 1}},
		{{First: 4, Count: 1}},
		{{First: 0, Count: 5}},
		{{First: 1}},
	} {
		g.send(&wire.Need{Ranges: ranges}, coordinator.ReasonData)
	}
}

// joins tells of workers that come.
type joins struct {
	*events
	joined chan string
}

func (j joins) Membership(r coordinator.MembershipReport) {
	if r.Joined != "" {
		j.joined <- r.Joined
	}
}

func checkRejections(t *testing.T, got, want []coordinator.Rejection) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("not counted: %v", w)
		}
	}
	for _, g := range got {
		if late := g.Worker == "honest" && g.Reason.Expected(); !late && !slices.Contains(want, g) {
			t.Errorf("not expected: %v", g)
		}
	}
}

// A worker of another version or with another program is told why it is not wanted.
func TestRun_Refusals(t *testing.T) {
	bus := wire.NewMemory(nil)
	c := newCoordinator(t, config(t), bus, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	w, err := worker.New(worker.Config{Run: "toy", Build: func([]byte, []byte, int) (worker.Program, error) {
		return &toy{size: 3}, nil
	}}, bus, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	err = w.Run(t.Context())
	if !errors.Is(err, worker.ErrRefused) || !strings.Contains(err.Error(), "3 parameters") || !strings.Contains(err.Error(), "same release") {
		t.Errorf("got %v", err)
	}
	old := newClient(t, bus, "old")
	hello := []byte{0x97, wire.Version + 1, byte(wire.KindHello), 0xa3, 't', 'o', 'y', 0xa3, 'o', 'l', 'd', 0, 0}
	hello = append(hello, 0xce)
	old.publish(old.subjects.Control, binary.BigEndian.AppendUint32(hello, wire.Checksum(hello[:len(hello)-1])))
	if r := next[*wire.Refusal](old); !strings.Contains(r.Reason, fmt.Sprintf("protocol version %d,", wire.Version+1)) {
		t.Errorf("got %+v", r)
	}
	cancel()
	if err := <-done; !errors.Is(err, coordinator.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
}
