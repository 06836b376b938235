package fault

import (
	"hash/fnv"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/rng"
)

// Injector injects the faults of a Spec into one process. Its methods may be called from any goroutine; those of a nil
// Injector inject nothing.
type Injector struct {
	spec   Spec
	key    rng.Key
	name   uint32 // hash of the process's name
	counts *Counts

	mu       sync.Mutex
	messages rng.Stream
	cut      outages
	full     outages
	closed   bool
}

// What the streams of an Injector are for.
const (
	streamMessages = iota
	streamPartition
	streamDisk
	streamSchedule // of package chaos, which draws from the same key
)

// New returns an Injector for the process of that name. Processes of different names have different faults. If the
// specification names a file for the counters, it is made.
func New(spec Spec, name string, log hclog.Logger) (*Injector, error) {
	h := fnv.New32a()
	h.Write([]byte(name))
	i := &Injector{spec: spec, key: rng.New(spec.Seed, rng.Fault), name: h.Sum32()}
	i.messages = i.key.At(streamMessages, i.name, 0)
	now := time.Now()
	i.cut = outages{Outage: spec.Partition, draws: i.key.At(streamPartition, i.name, 0), until: now}
	i.full = outages{Outage: spec.DiskFull, draws: i.key.At(streamDisk, i.name, 0), until: now}
	var err error
	i.counts, err = openCounts(spec.Counts, log)
	return i, err
}

// Schedule is the stream from which the times of what happens to the n-th kind of process are drawn.
func Schedule(seed uint64, n int) rng.Stream {
	return rng.New(seed, rng.Fault).At(streamSchedule, uint32(n), 0)
}

// Spec is what is injected.
func (i *Injector) Spec() Spec {
	if i == nil {
		return Spec{}
	}
	return i.spec
}

// Close writes the counters a last time. Messages that are held back are lost.
func (i *Injector) Close() error {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	return i.counts.close()
}

// apart reports whether the process is cut off now.
func (i *Injector) apart() bool {
	if i.spec.Partition.Length == 0 {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.during(&i.cut, Partition)
}

// during reports whether an outage is on, and counts those that are met.
func (i *Injector) during(o *outages, kind Kind) bool {
	on, first := o.on(time.Now())
	if first {
		i.counts.add(kind)
	}
	return on
}

// outages are the outages of one kind, one after the other. The times between their beginnings are exponential, so that
// their number does not depend on how often the process is started anew.
type outages struct {
	Outage
	draws       rng.Stream
	from, until time.Time // of the present or next one
	met         bool      // it has been noticed
}

// on reports whether there is an outage now, and whether it is noticed for the first time.
func (o *outages) on(now time.Time) (on, first bool) {
	for !now.Before(o.until) {
		gap := -math.Log(1-o.draws.Float64()) * float64(max(o.Every-o.Length, 0))
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

// goroutines is what the process reports beside its counters, so that a leak shows.
func goroutines() int64 { return int64(runtime.NumGoroutine()) }
