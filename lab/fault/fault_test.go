package fault

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func inject(t *testing.T, spec Spec, name string) *Injector {
	t.Helper()
	i, err := New(spec, name, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

// tape records what is published.
type tape struct {
	mu     sync.Mutex
	sent   [][]byte
	handle func([]byte)
}

// published is what was published so far.
func (r *tape) published() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

func (r *tape) MaxPayload() int { return 1 << 20 }
func (r *tape) Publish(_ string, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, bytes.Clone(data))
	return nil
}

func (r *tape) Key() string { return wire.NoKey }
func (r *tape) Hear(subject string, handle func(string, []byte)) (wire.Subscription, error) {
	return r.Subscribe(subject, func(data []byte) { handle(wire.NoKey, data) })
}

func (r *tape) Subscribe(_ string, handle func([]byte)) (wire.Subscription, error) {
	r.handle = handle
	return nil, nil
}

// near reports whether n of total trials is what a share makes likely: within five standard deviations.
func near(n, total int, share float64) bool {
	mean := share * float64(total)
	return math.Abs(float64(n)-mean) < 5*math.Sqrt(mean*(1-share))
}

func TestBus_Shares(t *testing.T) {
	const total = 50_000
	i := inject(t, Spec{Seed: 3, Drop: 0.02, Dup: 0.01, Corrupt: 0.005}, "worker")
	carrier := &tape{}
	bus := i.Bus(carrier)
	message := make([]byte, 100)
	for range total {
		if err := bus.Publish("s", message); err != nil {
			t.Fatal(err)
		}
	}
	changed := 0
	for _, data := range carrier.published() {
		ones := 0
		for _, b := range data {
			ones += bits.OnesCount8(b)
		}
		if changed += ones; ones > 1 {
			t.Fatalf("%d bits of one message were changed", ones)
		}
	}
	c := i.counts
	if n := int(c.n[Drop]); !near(n, total, 0.02) {
		t.Errorf("%d of %d messages dropped", n, total)
	}
	if n := int(c.n[Dup]); !near(n, total, 0.0098) || len(carrier.published()) != total-int(c.n[Drop])+n {
		t.Errorf("%d of %d messages repeated, %d sent", n, total, len(carrier.published()))
	}
	if n := int(c.n[Corrupt]); !near(n, total, 0.0049) || changed != n {
		t.Errorf("%d of %d messages changed, %d seen", n, total, changed)
	}
	for _, b := range message {
		if b != 0 {
			t.Fatal("the sender's own bytes were changed")
		}
	}
}

func TestBus_SameSeedSameFaults(t *testing.T) {
	fates := func(seed uint64, name string) (list []fate) {
		i := inject(t, Spec{Seed: seed, Drop: 0.1, Dup: 0.1, Corrupt: 0.1, Delay: Delay{time.Second, 0.1}}, name)
		for range 200 {
			list = append(list, i.decide(50))
		}
		return list
	}
	equal := func(a, b []fate) bool {
		for k := range a {
			if a[k] != b[k] {
				return false
			}
		}
		return true
	}
	first := fates(1, "w1")
	if !equal(first, fates(1, "w1")) {
		t.Error("one seed and name gave two sequences of faults")
	}
	if equal(first, fates(2, "w1")) || equal(first, fates(1, "w2")) {
		t.Error("another seed or name gave the same faults")
	}
}

func TestBus_DelayAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := inject(t, Spec{Delay: Delay{time.Second, 1}}, "w")
		carrier := &tape{}
		bus := i.Bus(carrier)
		data := []byte{1}
		if err := bus.Publish("s", data); err != nil || len(carrier.published()) != 0 {
			t.Fatalf("sent at once: %v, %v", carrier.published(), err)
		}
		data[0] = 2 // the bus must not keep data
		time.Sleep(time.Second)
		synctest.Wait()
		if len(carrier.published()) != 1 || carrier.published()[0][0] != 1 {
			t.Fatalf("sent %v", carrier.published())
		}
		_ = bus.Publish("s", data)
		i.Close()
		time.Sleep(time.Second)
		if len(carrier.published()) != 1 {
			t.Error("a message was sent after Close")
		}
	})
}

// Who follows partitions is told of each, of its beginning and of its end, though no message is sent meanwhile.
func TestFollowPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := inject(t, Spec{Seed: 1, Partition: Outage{4 * time.Second, 40 * time.Second}}, "w")
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		var begun, ended int64
		var since time.Time
		i.FollowPartitions(ctx, func(off bool) {
			if off != i.cutOff() || off == (begun > ended) {
				t.Errorf("told %v while it is %v, after %d partitions and %d ends", off, i.cutOff(), begun, ended)
			}
			if off {
				begun, since = begun+1, time.Now()
				return
			}
			ended++
			if d := time.Since(since); d != 4*time.Second {
				t.Errorf("a partition of %v, want 4 s", d)
			}
		})
		if n := i.counts.n[Partition]; n != begun || n < 50 {
			t.Errorf("told of %d partitions, counted %d", begun, n)
		}
		var none *Injector
		none.FollowPartitions(t.Context(), nil)
		inject(t, Spec{Drop: 0.1}, "w").FollowPartitions(t.Context(), nil)
	})
}

func TestBus_Partition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := inject(t, Spec{Seed: 1, Partition: Outage{4 * time.Second, 40 * time.Second}}, "w")
		carrier := &tape{}
		bus := i.Bus(carrier)
		heard, sent, total := 0, 0, 0
		if _, err := bus.Subscribe("s", func([]byte) { heard++ }); err != nil {
			t.Fatal(err)
		}
		for ; total < 400_000; total++ { // 40,000 s
			_ = bus.Publish("s", []byte("x"))
			carrier.handle(nil)
			time.Sleep(100 * time.Millisecond)
		}
		sent = len(carrier.published())
		if sent != heard {
			t.Errorf("%d messages sent, %d heard: not cut off in both directions", sent, heard)
		}
		if share := 1 - float64(sent)/float64(total); share < 0.08 || share > 0.12 {
			t.Errorf("cut off for %.3f of the time, want 0.1", share)
		}
		if n := i.counts.n[Partition]; n < 850 || n > 1150 {
			t.Errorf("%d partitions in 40,000 s, want about 1,000", n)
		}
	})
}

func TestNilInjector_ChangesNothing(t *testing.T) {
	var i *Injector
	carrier, p := &tape{}, &program{}
	if i.Bus(carrier) != wire.Bus(carrier) || i.Program(p) != p || i.Close() != nil || i.Spec() != (Spec{}) || i.Disk(disk.System()) != disk.System() {
		t.Error("a nil injector is not transparent")
	}
}

// program has gradients of ones.
type program struct{}

func (*program) Size() int                    { return 10 }
func (*program) TermNames() []string          { return nil }
func (*program) Load(uint64, []float32) error { return nil }
func (*program) Gradient(_ int, _ uint64, _ int, grad, _ []float32) error {
	for k := range grad {
		grad[k] = 1
	}
	return nil
}
func (*program) Validate(int, uint64, int, []float32) error { return nil }

// ahead is a program that has as many parts to prepare as the number of the shard.
type ahead struct {
	program
	parts int
}

func (p *ahead) Prepare(_ int, _ uint64, shard int) bool {
	p.parts++
	return p.parts < shard
}

func TestProgram_PreparesAhead(t *testing.T) {
	inner := new(ahead)
	p := inject(t, Spec{Seed: 1, NaN: 0.05}, "w").Program(inner)
	for worker.Prepare(p, 0, 4, 3) {
	}
	if inner.parts != 3 {
		t.Errorf("%d parts were prepared, want 3", inner.parts)
	}
}

func TestProgram_SpoilsOnce(t *testing.T) {
	const steps, shards = 500, 8
	i := inject(t, Spec{Seed: 1, NaN: 0.05}, "w")
	p := i.Program(&program{})
	grad := make([]float32, 10)
	compute := func(step uint64, shard int) (bad bool) {
		if err := p.Gradient(0, step, shard, grad, nil); err != nil {
			t.Fatal(err)
		}
		for _, v := range grad {
			bad = bad || v != v
		}
		return bad
	}
	for shard := range 200 {
		if compute(0, shard) {
			t.Fatal("a shard was spoilt before parameters were loaded")
		}
	}
	spoilt := 0
	for step := range uint64(steps) {
		if err := p.Load(step, nil); err != nil {
			t.Fatal(err)
		}
		for shard := range shards {
			if compute(step, shard) {
				spoilt++
				if compute(step, shard) {
					t.Fatalf("step %d, shard %d is spoilt when computed again", step, shard)
				}
			}
		}
	}
	if !near(spoilt, steps*shards, 0.05) || int(i.counts.n[NaN]) != spoilt {
		t.Errorf("%d of %d shards spoilt, %d counted", spoilt, steps*shards, i.counts.n[NaN])
	}
}

// The file holds what was counted up to 100 ms ago: no more is lost when the process is killed.
func TestCounts_AreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts")
	synctest.Test(t, func(t *testing.T) {
		i := inject(t, Spec{Counts: path}, "w")
		for range 3 {
			i.counts.add(Drop)
		}
		time.Sleep(2 * saveInterval)
		i.counts.add(NaN) // not written yet
		counts, goroutines, err := ReadCounts(path)
		if err != nil || counts["drop"] != 3 || counts["nan"] != 0 || goroutines < 1 {
			t.Errorf("got %v, %d goroutines, %v", counts, goroutines, err)
		}
		if err := i.Close(); err != nil {
			t.Fatal(err)
		}
		if counts, _, err := ReadCounts(path); err != nil || counts["nan"] != 1 {
			t.Errorf("after Close: %v, %v", counts, err)
		}
	})
	if err := os.WriteFile(path, []byte("drop x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadCounts(path); err == nil {
		t.Error("a damaged file was read")
	}
}

// While the disk is full nothing is written and what was there stays; a file that was begun can be removed.
func TestDisk_FullNowAndThen(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		i := inject(t, Spec{Seed: 1, DiskFull: Outage{3 * time.Second, 30 * time.Second}}, "c")
		d := i.Disk(disk.System())
		const total = 300
		path, failures := filepath.Join(dir, "file"), 0
		for n := range total { // 3,000 s
			text := []byte{byte(n)}
			before, _ := os.ReadFile(path)
			err := disk.Replace(d, path, func(w io.Writer) error { _, err := w.Write(text); return err })
			after, readErr := os.ReadFile(path)
			switch {
			case err == nil && !bytes.Equal(after, text), readErr != nil && err == nil:
				t.Fatalf("%v %v after success", after, readErr)
			case err != nil && !errors.Is(err, syscall.ENOSPC):
				t.Fatal(err)
			case err != nil && !bytes.Equal(before, after):
				t.Fatal("the old file did not stay")
			case err != nil:
				failures++
			}
			time.Sleep(10 * time.Second)
		}
		if !near(failures, total, 0.1) {
			t.Errorf("%d of %d writes failed, want a tenth", failures, total)
		}
	})
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
