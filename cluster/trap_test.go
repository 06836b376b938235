package cluster_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
)

const (
	trapSize    = 3_000_000 // parameters: 12 MB
	trapWorkers = 8
)

// busyBus is a carrier whose receiver is held up in the middle of the gradients of each step.
type busyBus struct {
	wire.Bus
	data   string // subject
	chunks atomic.Int64
	twice  atomic.Int64
}

func (b *busyBus) Hear(subject string, handle func(string, []byte)) (wire.Subscription, error) {
	if subject != b.data {
		return b.Bus.Hear(subject, handle)
	}
	perStep := int64(trapWorkers * wire.NewChunking(trapSize, 61440).Count())
	type place struct {
		lease uint64
		index int
	}
	seen := make(map[place]bool) // messages come one at a time
	return b.Bus.Hear(subject, func(key string, data []byte) {
		if m, err := wire.Decode(data); err == nil {
			c := m.(*wire.Chunk)
			if at := (place{c.Lease, c.Index}); seen[at] {
				b.twice.Add(1)
			} else {
				seen[at] = true
			}
		}
		if n := b.chunks.Add(1); n%perStep == perStep/4 {
			time.Sleep(busy)
		}
		handle(key, data)
	})
}

// busyObserver holds the coordinator itself up after the first step, and counts workers that are lost.
type busyObserver struct {
	coordinator.Silent
	lost []string
	most int64 // bytes that came in for one step
}

func (o *busyObserver) Step(r coordinator.StepReport) {
	if r.Step == 1 {
		time.Sleep(busy)
	}
	o.most = max(o.most, r.BytesIn)
}

func (o *busyObserver) Membership(r coordinator.MembershipReport) {
	if r.Left != "" {
		o.lost = append(o.lost, r.Left+": "+r.Reason)
	}
}

// The gradients of eight workers are more than NATS holds for a subscriber, 64 MiB; beyond, it drops messages and tells
// nobody. A coordinator that is busy while they come must lose nothing, with the limits that NATS has by default.
func TestTrap_SlowCoordinator(t *testing.T) {
	t.Parallel()
	cfg := toyConfig(t, trapSteps, trapWorkers)
	cfg.FailureDetection = time.Minute // what does not come is not asked for again before the test is over
	want := undisturbed(t, cfg, trapSize)
	site, b, log := newSite(t)
	subjects, err := wire.SubjectsOf(cfg.Run)
	if err != nil {
		t.Fatal(err)
	}
	bus := &busyBus{Bus: site.connect(cluster.CoordinatorKey), data: subjects.Data}
	obs := &busyObserver{}
	c, err := coordinator.New(cfg, initial(trapSize), bus, obs, site.log.Named("coordinator"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range trapWorkers {
		end := site.work(fmt.Sprintf("w%d", i), func() *toy { return &toy{size: trapSize} })
		defer func() {
			if err := end(); err != nil {
				t.Error(err)
			}
		}()
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := hash(c); got != want {
		t.Errorf("SHA-256 %s, want %s", got, want)
	}
	if n := b.Server().NumSlowConsumers(); n != 0 {
		t.Errorf("%d slow consumers at the broker", n)
	}
	// A chunk that is asked for again while it waits for the coordinator comes twice, the second time perhaps too late.
	refused := slices.DeleteFunc(c.Rejections(), func(r coordinator.Rejection) bool { return r.Reason.Expected() })
	if len(obs.lost) > 0 || len(refused) > 0 || log.String() != "" {
		t.Errorf("lost workers %q, refused messages %v, warnings:\n%s", obs.lost, refused, log)
	}
	// What is asked for again while the coordinator is slow is one chunk at a time.
	if n := bus.twice.Load(); n > 2*trapSteps*trapWorkers {
		t.Errorf("%d chunks came twice, of %d", n, bus.chunks.Load())
	}
	t.Logf("%d chunks, %d of them twice", bus.chunks.Load(), bus.twice.Load())
	if obs.most <= 64<<20 {
		t.Errorf("no step had more than %d bytes of gradients: the trap was not set", obs.most)
	}
}
