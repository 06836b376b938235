package fault

import (
	"context"
	"hash/fnv"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/rng"
)

// Injector injects the faults of a Spec into one process. Its methods may be called from any goroutine. A nil Injector
// injects nothing.
type Injector struct {
	spec   Spec
	key    rng.Key // of the seed, for the purpose Fault
	name   uint32  // hash of the process's name
	counts *Counts

	mu       sync.Mutex // guards what follows
	messages rng.Stream // for messages, and for the room on a full disk
	cut      outages    // partitions
	full     outages    // of the disk
	closed   bool       // delayed messages are not sent any more
}

// The purposes of an Injector's random streams.
const (
	streamMessages = iota
	streamPartition
	streamDisk
	streamSchedule // used by package chaos, which draws from the same key
)

// New returns an Injector for the process of that name. Processes with different names have different faults. If
// the Spec names a file for the counters, New makes it. The only error is that the file cannot be made. The
// caller closes the Injector.
func New(spec Spec, name string, log hclog.Logger) (*Injector, error) {
	h := fnv.New32a()
	h.Write([]byte(name))
	i := &Injector{spec: spec, key: rng.New(spec.Seed, rng.Fault), name: h.Sum32()}
	i.messages = i.key.At(streamMessages, i.name, 0)
	now := time.Now()
	i.cut = outages{Outage: spec.Partition, draws: i.key.At(streamPartition, i.name, 0), until: now, soon: spec.Soon}
	i.full = outages{Outage: spec.DiskFull, draws: i.key.At(streamDisk, i.name, 0), until: now, soon: spec.Soon}
	var err error
	i.counts, err = openCounts(spec.Counts, log)
	return i, err
}

// Schedule is the random stream for the times of faults of the n-th kind, or process, of a plan. Streams of
// different n are independent.
func Schedule(seed uint64, n int) rng.Stream {
	return rng.New(seed, rng.Fault).At(streamSchedule, uint32(n), 0)
}

// Spec returns the faults that are injected.
func (i *Injector) Spec() Spec {
	if i == nil {
		return Spec{}
	}
	return i.spec
}

// Close writes the counters for the last time. Delayed messages that are not yet sent are lost.
func (i *Injector) Close() error {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	return i.counts.close()
}

// cutOff reports whether the process is cut off at this moment.
func (i *Injector) cutOff() bool {
	if i.spec.Partition.Length == 0 {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.during(&i.cut, Partition)
}

// partitionEvery is the time between two looks whether the process is cut off.
const partitionEvery = 20 * time.Millisecond

// FollowPartitions tells tell when the process is cut off, and when it is no longer, until ctx ends. It is for
// what says things in the name of the process without its bus. It blocks, and returns at once if there are no
// partitions.
func (i *Injector) FollowPartitions(ctx context.Context, tell func(off bool)) {
	if i == nil || i.spec.Partition.Length == 0 {
		return
	}
	ticker := time.NewTicker(partitionEvery)
	defer ticker.Stop()
	for last := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if off := i.cutOff(); off != last {
			last = off
			tell(off)
		}
	}
}

// during reports whether there is an outage at this moment. It counts an outage when it is first noticed; one
// that nothing meets is not counted. The caller holds mu.
func (i *Injector) during(o *outages, kind Kind) bool {
	on, first := o.on(time.Now())
	if first {
		i.counts.add(kind)
	}
	return on
}

// outages are the outages of one kind, one after the other. The times between their beginnings are exponentially
// distributed, so that their number does not depend on how often the process is restarted: such a law has no
// memory.
type outages struct {
	Outage
	draws       rng.Stream
	from, until time.Time     // of the current or the next outage
	met         bool          // the current outage has been noticed
	soon        time.Duration // within which the next one begins; 0: it has no limit
}

// on reports whether there is an outage at this moment, and whether it is noticed for the first time. From the
// end of one to the beginning of the next it draws
//
//	gap = −ln(1 − u)·(Every − Length)
//
// so that Every is the mean time between two beginnings; the first one is cut down to u·soon if that is set.
func (o *outages) on(now time.Time) (on, first bool) {
	for !now.Before(o.until) {
		draw := o.draws.Float64()
		gap := -math.Log(1-draw) * float64(max(o.Every-o.Length, 0))
		if o.soon > 0 {
			gap = min(gap, draw*float64(o.soon))
			o.soon = 0
		}
		o.from = o.until.Add(time.Duration(gap))
		o.until, o.met = o.from.Add(max(o.Length, 1)), false
	}
	if now.Before(o.from) {
		return false, false
	}
	first = !o.met
	o.met = true
	return true, first
}

// goroutines is the number of goroutines, which the process writes beside its counters so that a leak shows.
func goroutines() int64 { return int64(runtime.NumGoroutine()) }
