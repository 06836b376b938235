package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// thief has the key of a worker and uses it for all that it is good for. It hears what workers hear, knows their ids,
// and speaks in their names, but not with their tokens.
type thief struct {
	t      *testing.T
	conn   *nats.Conn
	key    string       // its name
	forged atomic.Int64 // leases of others that were answered, and the broker has it
}

const hostileSize = 20_000

func newThief(t *testing.T, s *site) *thief {
	t.Helper()
	conn, err := nats.Connect(s.url, holder(t, s.dir, cluster.WorkerKey), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return &thief{t: t, conn: conn, key: keyName(t, s.dir, cluster.WorkerKey)}
}

// forge sends one message of every kind that a worker may send, in another worker's name, as an answer to a lease.
func (h *thief) forge(victim string, l *wire.Lease) {
	values := wire.FloatBytes(make([]float32, 15_360))
	sum := wire.Checksum(values)
	claim := wire.Result{
		Lease: l.ID, Step: l.Step, Attempt: l.Attempt, Work: l.Work, First: l.First, Count: l.Count,
		Terms: []float32{1e9}, Length: hostileSize, Checksum: sum,
	}
	fault := claim
	fault.Fault = "forged"
	audit := claim
	audit.Digest = strings.Repeat("0", 64)
	chunk := func(i int) wire.Message {
		return &wire.Chunk{Lease: l.ID, Step: l.Step, Index: i, CRC: sum, Data: values}
	}
	for _, m := range []wire.Message{
		&wire.Hello{Slots: 1000}, &wire.Ready{Size: 1, Terms: []string{"x"}, Job: "x", Golden: "x"}, &wire.Fetch{Hash: "x"},
		&wire.Need{Step: l.Step, Ranges: []wire.Range{{First: 0, Count: 1}}}, &claim, &fault, &audit, chunk(0), chunk(1),
		&wire.Heartbeat{Step: l.Step}, &wire.Seek{Slots: 1}, &wire.Bye{},
		// What only a coordinator says:
		&wire.Introduce{}, &wire.End{Reason: "forged"}, &wire.Theta{Step: l.Step, Count: 1, Data: values[:4], CRC: 1},
	} {
		for _, token := range []uint64{0, 1, 1 << 63} {
			*m.Head() = wire.Header{Run: "toy", From: victim, Term: l.Term, Token: token}
			data, err := wire.NewEncoder().Encode(m)
			if err != nil {
				continue // what cannot be said is no danger
			}
			for _, subject := range []string{
				h.by("sy.toy.control"), h.by("sy.toy.data"), "sy.toy.theta", "sy.toy.all", "sy.toy.worker." + h.key + "." + victim,
			} {
				h.publish(subject, data)
			}
		}
	}
}

// garbage sends what is no message, of all sizes.
func (h *thief) garbage() {
	for _, data := range [][]byte{
		{},
		{0xc1},
		[]byte("GET / HTTP/1.1\r\n\r\n"), bytes.Repeat([]byte{0x9a}, 1<<10), bytes.Repeat([]byte{0xdd, 0xff}, 1<<16),
		make([]byte, 1<<20),
	} {
		for _, subject := range []string{h.by("sy.toy.control"), h.by("sy.toy.data"), h.by("sypool.seek"), h.by("sy.other.control")} {
			h.publish(subject, data)
		}
	}
}

// by is the subject on which the thief may speak.
func (h *thief) by(subject string) string { return wire.By(subject, h.key) }

// publish may fail: the broker cuts the thief off now and then, who does not read what he has subscribed to.
func (h *thief) publish(subject string, data []byte) { _ = h.conn.Publish(subject, data) }

// rob listens to a run and answers each lease of others before they do, until the connection is closed.
func (h *thief) rob() {
	listen := func(m *nats.Msg) {
		message, err := wire.Decode(m.Data)
		l, ok := message.(*wire.Lease)
		if err != nil || !ok {
			return
		}
		victim := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
		h.forge(victim, l)
		h.forge("mallory", l)
		h.garbage()
		if h.conn.FlushTimeout(time.Second) == nil {
			h.forged.Add(1)
		}
	}
	for _, subject := range []string{"sy.*.worker." + h.key + ".*", "sy.*.worker.*.*", "sy.*.control.*", "sy.*.data.*", ">"} { // all but the first are denied
		if _, err := h.conn.Subscribe(subject, listen); err != nil {
			h.t.Error(err)
		}
	}
	for range 100 {
		if _, err := h.conn.SubscribeSync("sy.*.theta"); err != nil {
			h.t.Error(err)
		}
	}
}

// awaited holds an honest worker up until the thief has been at work for some time.
func (h *thief) awaited(step uint64) {
	for step == 10 && h.forged.Load() < 10 && h.t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// membership counts who came and went.
type membership struct {
	coordinator.Silent
	left []string
}

func (m *membership) Membership(r coordinator.MembershipReport) {
	if r.Left != "" {
		m.left = append(m.left, r.Left+": "+r.Reason)
	}
}

// A thief of a worker's key publishes garbage, speaks for others and listens to all that he may: the run ends with the
// same bits, and no honest worker is sent away or loses its lease.
func TestHostile_ThiefOfAWorkersKey(t *testing.T) {
	cfg := toyConfig(t, 20, 8)
	cfg.FailureDetection = 20 * time.Second
	want := undisturbed(t, cfg, hostileSize)
	site, _, log := newSite(t)
	obs := &membership{}
	c, err := coordinator.New(cfg, initial(hostileSize), site.connect(cluster.CoordinatorKey), obs, site.log.Named("coordinator"))
	if err != nil {
		t.Fatal(err)
	}
	evil := newThief(t, site)
	evil.rob()
	if err := evil.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		end := site.work(fmt.Sprintf("honest-%d", i), func() *toy { return &toy{size: hostileSize, before: evil.awaited} })
		defer func() {
			if err := end(); err != nil {
				t.Errorf("an honest worker ended: %v", err)
			}
		}()
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := hash(c); got != want {
		t.Errorf("SHA-256 %s, want %s", got, want)
	}
	stats := c.Stats()
	for _, who := range slices.Concat(obs.left, stats.Quarantined) {
		if strings.HasPrefix(who, "honest") {
			t.Errorf("sent away: %s", who)
		}
	}
	if stats.Rollbacks != 0 || strings.Contains(log.String(), "connection to the broker") {
		t.Errorf("%d times back, warnings:\n%s", stats.Rollbacks, log)
	}
	refused := map[coordinator.Reason]int64{}
	for _, r := range c.Rejections() {
		refused[r.Reason] += r.Count
	}
	if refused[coordinator.ReasonToken] == 0 || refused[coordinator.ReasonMalformed] == 0 {
		t.Errorf("the thief was not at work: %v", refused)
	}
}

// A worker that has a key and lies about its gradients is found out by audits and cut off, and leaves no trace.
func TestHostile_LiarWithAKey(t *testing.T) {
	cfg := toyConfig(t, 10, 8)
	want := undisturbed(t, cfg, hostileSize)
	cfg.Audit, cfg.Referee, cfg.CheckpointEvery = 1, referee(hostileSize), 2
	site, _, _ := newSite(t)
	c, err := coordinator.New(cfg, initial(hostileSize), site.connect(cluster.CoordinatorKey), nil, site.log.Named("coordinator"))
	if err != nil {
		t.Fatal(err)
	}
	lied := make(chan struct{})
	var once sync.Once
	end := site.work("liar", func() *toy {
		return &toy{size: hostileSize, lie: true, before: func(step uint64) {
			if step > 1 {
				once.Do(func() { close(lied) })
			}
		}}
	})
	wait := func(step uint64) { // until the liar had something to do
		if step == 5 {
			select {
			case <-lied:
			case <-t.Context().Done():
			}
		}
	}
	for i := range 2 {
		end := site.work(fmt.Sprintf("honest-%d", i), func() *toy { return &toy{size: hostileSize, before: wait} })
		defer func() {
			if err := end(); err != nil {
				t.Errorf("an honest worker ended: %v", err)
			}
		}()
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := end(); err == nil {
		t.Error("the liar was not told")
	}
	if got := hash(c); got != want {
		t.Errorf("SHA-256 %s, want %s", got, want)
	}
	if q := c.Stats().Quarantined; !slices.Equal(q, []string{wire.Name("liar", keyName(t, site.dir, cluster.WorkerKey))}) {
		t.Errorf("cut off: %q", q)
	}
}

// A liar that comes back under another name each time that it is cut off delays a run, but does not hold it: without a
// checkpoint each lie that an audit finds costs all steps, and yet the run gets to its end.
func TestHostile_LiarWhoComesBack(t *testing.T) {
	cfg := toyConfig(t, 40, 8)
	cfg.Audit, cfg.Referee = 0.3, referee(hostileSize)
	site, _, _ := newSite(t)
	c, err := coordinator.New(cfg, initial(hostileSize), site.connect(cluster.CoordinatorKey), nil, site.log.Named("coordinator"))
	if err != nil {
		t.Fatal(err)
	}
	var lies atomic.Int64
	wait := func(step uint64) { // until a liar had something to do
		for step == 5 && lies.Load() == 0 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}
	end := site.work("honest", func() *toy { return &toy{size: hostileSize, before: wait} })
	ctx, over := context.WithCancel(t.Context())
	bus := site.connect(cluster.WorkerKey)
	var liar sync.WaitGroup
	liar.Go(func() {
		for life := 1; ctx.Err() == nil; life++ {
			w := site.member(bus, fmt.Sprintf("liar-%d", life), func() *toy {
				return &toy{size: hostileSize, lie: true, before: func(step uint64) {
					if step > 1 {
						lies.Add(1)
					}
				}}
			})
			if err := w.Run(ctx); err != nil && !errors.Is(err, worker.ErrRefused) {
				t.Error(err)
			}
		}
	})
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	over()
	liar.Wait()
	if err := end(); err != nil {
		t.Errorf("the honest worker ended: %v", err)
	}
	stats := c.Stats()
	t.Logf("%d rollbacks, %d cut off", stats.Rollbacks, len(stats.Quarantined))
	if stats.Rollbacks == 0 {
		t.Error("no liar was found out")
	}
}
