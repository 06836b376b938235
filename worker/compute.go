package worker

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// lease is a block that the coordinator has leased to this worker. The fields after mu belong to the slots until all
// shards are done, and to the worker afterwards.
type lease struct {
	wire.Lease
	block    vector.Block
	program  Program
	memory   *vectors
	chunks   wire.Chunking
	handed   int           // shards given to slots
	done     int           // shards computed
	dropped  bool          // its step is over, or it was taken back
	steps    atomic.Int64  // steps of computation: one for a shard, or those of a Gradual
	unwanted atomic.Bool   // set when the lease is dropped: the slots give up
	began    time.Time     // time at which a slot got the first shard
	took     time.Duration // time from began to the end of the last shard

	mu    sync.Mutex
	tree  *vector.Tree
	added int
	err   error
	sum   vector.Partial
	crcs  []uint32 // one for each chunk of the sum
	// The values of integers are kept only in the form in which they are sent.
	encoded []byte
	length  int // number of values that can be pulled
	// digest is the hash of an audit's sum; its values are not kept.
	digest string
	// digests are those of the sum's sections, if it is shared out; see wire.Sections.
	digests string

	reduction *reduction // of a reduce lease, which no slot computes; nil otherwise
}

// finished reports whether the result is complete, so that it can be announced and pulled.
func (l *lease) finished() bool { return l.done == l.block.Count }

// task is one shard of a lease.
type task struct {
	lease *lease
	shard int
}

// advance installs new parameters if no slot is computing, and gives shards to free slots. It is called after every
// event. An error of Load ends the worker.
func (w *Worker) advance() error {
	if w.program == nil || !w.theta.known || w.theta.got.Missing() > 0 {
		return nil
	}
	if step, pass := w.theta.step, w.theta.pass; w.loaded != step+1 || w.pass != pass {
		// The parameters change only while no slot reads them; what is still computed is of no use and ends soon.
		if w.running > 0 {
			return nil
		}
		if err := w.served.Load(step, w.theta.values); err != nil {
			return fmt.Errorf("load the parameters of step %d: %w", step, err)
		}
		w.loaded, w.pass = step+1, pass
	}
	for _, l := range w.leases {
		if l.reduction != nil {
			continue
		}
		// Leases in the order in which they came: tasks has room for one shard of each slot, so this never waits.
		for w.running < w.cfg.Slots && l.handed < l.block.Count {
			if l.handed == 0 {
				l.began = time.Now()
			}
			w.tasks <- task{l, l.First + l.handed}
			l.handed++
			w.running++
		}
	}
	return nil
}

// account records a computed shard. After the last shard of a block it announces the block.
func (w *Worker) account(l *lease) {
	l.done++
	switch {
	// Nobody waits for it; the memory goes back with the last shard.
	case l.dropped:
		w.reclaim(l)
	case l.finished():
		l.took = time.Since(l.began)
		w.announce(l)
	}
}

// dropLeases gives up all leases: their step is over, or the coordinator has revoked them. Slots that compute for
// them end their shards, or give up; their results count no more.
func (w *Worker) dropLeases() {
	for _, l := range w.leases {
		l.dropped = true
		l.unwanted.Store(true)
		w.reclaim(l)
	}
	clear(w.gave)
	w.leases, w.sending = w.leases[:0], w.sending[:0]
}

// abandon makes the slots end as soon as they can.
func (w *Worker) abandon() {
	for _, l := range w.leases {
		l.unwanted.Store(true)
	}
	close(w.tasks)
}

// reclaim releases the memory of a dropped lease when no slot works on it any more. Otherwise account calls it again
// with each shard that comes back.
func (w *Worker) reclaim(l *lease) {
	if l.reduction != nil {
		l.giveUp()
	}
	if l.done == l.handed {
		l.tree.Reset(l.block, l.memory.putPartial)
		l.memory.putPartial(l.sum)
		l.memory.putBytes(l.encoded)
		l.sum, l.encoded = vector.Partial{}, nil
	}
}

// compute is the loop of a slot. It computes shards, and between them it prepares the next step. It returns when
// tasks is closed.
func (w *Worker) compute(slot int) {
	var l *lease
	goOn := func() bool {
		l.steps.Add(1)
		return !l.unwanted.Load()
	}
	for t := range w.tasks {
		l = t.lease
		// Fields of the lease that are read here do not change while one of its shards is out.
		p := l.memory.partial(l.Work == wire.Gradient)
		var err error
		if l.Work == wire.Gradient {
			err = GradientWhile(l.program, slot, l.Step, t.shard, p.Values, p.Terms, goOn)
		} else {
			err = l.program.Validate(slot, l.Step, t.shard, p.Terms)
			l.steps.Add(1)
		}
		if err != nil {
			err = fmt.Errorf("shard %d: %w", t.shard, err)
		}
		l.add(t.shard, p, err)
		if l.Work == wire.Gradient {
			w.prefetch.expect(l.program, l.Step+1, t.shard)
		}
		w.computed <- t
		w.prepareNext(slot)
	}
}

// add adds a shard's result to the tree. The last shard completes the block. Shards may come in any order: the tree
// makes one sum of them.
func (l *lease) add(shard int, p vector.Partial, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// The block is announced as failed when all its shards are done, with the first reason.
	if err != nil && l.err == nil {
		l.err = err
	}
	l.tree.Add(vector.Block{First: shard, Count: 1}, p, l.memory.putPartial)
	if l.added++; l.added < l.block.Count {
		return
	}
	l.sum, _ = l.tree.Take()
	l.pack()
}

// pack makes what is announced and pulled of a sum that is complete. It is called once, by whoever adds the last
// part.
func (l *lease) pack() {
	switch {
	case l.Audit && l.Sections == 0:
		// Nothing of an audit is pulled, so its digest is all that is kept.
		l.digest = wire.DigestPartial(l.sum.Values, l.sum.Terms)
		l.dropValues()
		return
	case l.Work == wire.Validate:
		return
	}
	l.length = len(l.sum.Values)
	if l.chunks.Coding != wire.Float32 {
		l.encode()
	}
	if l.Sections > 0 {
		sections := wire.Sections{Chunks: l.chunks, Count: l.Sections}
		l.digests = sections.Digests(0, l.Sections, l.chunk)
	}
	if l.Audit {
		l.dropValues()
		l.memory.putBytes(l.encoded)
		l.encoded, l.length = nil, 0
		return
	}
	for i := range l.chunks.Count() {
		l.crcs = append(l.crcs, wire.Checksum(l.chunk(i)))
	}
}

// dropValues keeps only the terms of the sum.
func (l *lease) dropValues() {
	terms := slices.Clone(l.sum.Terms)
	l.memory.putPartial(l.sum)
	l.sum = vector.Partial{Terms: terms}
}

// encode encodes the values of the sum for sending. From then on they take a half or a quarter of the memory.
func (l *lease) encode() {
	width := l.chunks.Coding.Width()
	l.encoded = l.memory.bytes(width * l.length)
	for i := range l.chunks.Count() {
		from, to := l.chunks.Span(i)
		l.chunks.Encode(l.encoded[width*from:width*to], l.sum.Values, i)
	}
	l.dropValues()
}

// chunk is chunk i of a finished block's gradient. It aliases the lease where it can.
func (l *lease) chunk(i int) []byte {
	if l.encoded == nil {
		return l.chunks.Encode(nil, l.sum.Values, i)
	}
	width := l.chunks.Coding.Width()
	from, to := l.chunks.Span(i)
	return l.encoded[width*from : width*to]
}

// vectors manages memory of the program's size, so that a step allocates none. It grows to what a step needs at most
// and stays so. Slots and the worker use it at the same time.
type vectors struct {
	size, terms int

	mu       sync.Mutex       // guards both lists
	partials []vector.Partial // those with values
	encoded  [][]byte         // as long as the encoded values
}

// partial returns memory for a shard's result; without values, for the terms only.
func (v *vectors) partial(values bool) vector.Partial {
	if !values {
		return vector.Partial{Terms: make([]float32, v.terms)}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.partials); n > 0 {
		p := v.partials[n-1]
		v.partials = v.partials[:n-1]
		return p
	}
	return vector.Partial{Values: make([]float32, v.size), Terms: make([]float32, v.terms)}
}

// putPartial takes a partial back that nobody uses. One without values is left to the garbage collector.
func (v *vectors) putPartial(p vector.Partial) {
	if p.Values == nil {
		return
	}
	v.mu.Lock()
	v.partials = append(v.partials, p)
	v.mu.Unlock()
}

// bytes returns memory for encoded values.
func (v *vectors) bytes(n int) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	if last := len(v.encoded) - 1; last >= 0 && cap(v.encoded[last]) >= n {
		b := v.encoded[last]
		v.encoded = v.encoded[:last]
		return b[:n]
	}
	return make([]byte, n)
}

// putBytes takes encoded values back that nobody uses; nil: nothing.
func (v *vectors) putBytes(b []byte) {
	if b == nil {
		return
	}
	v.mu.Lock()
	v.encoded = append(v.encoded, b)
	v.mu.Unlock()
}
