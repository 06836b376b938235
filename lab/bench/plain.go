package bench

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/worker"
)

// plain is the arithmetic of a run without messages: the shards' gradients on several cores, their sum in the
// fixed tree, clipping and Adam. Distributed steps are compared with it. Its goroutines wait between steps, so
// that a step starts none.
//
// Invariant: between two steps every partial is in free.
type plain struct {
	program     worker.Program
	step        uint64
	theta, m, v []float32 // parameters, and the moments of Adam
	shards      int
	block       int // number of shards that a core takes at a time
	terms       int

	next     atomic.Int64    // the first shard that no core has taken
	start    []chan struct{} // one for each goroutine; a value begins a step, closing ends it
	finished sync.WaitGroup  // of the goroutines in a step
	trees    []*vector.Tree  // one for each thread, over the block that it computes

	mu   sync.Mutex // guards tree and err
	tree *vector.Tree
	err  error

	team          vector.Team
	scale, update func(from, to int) // of a range of the gradient and the parameters
	gradient      []float32          // that scale and update work on
	factor        float32            // by which they multiply it

	lending sync.Mutex // guards free
	free    []vector.Partial
}

// newPlain starts a goroutine for each thread; close ends them. The program has a slot for each. theta is copied.
func newPlain(program worker.Program, theta []float32, shards, threads int) *plain {
	p := &plain{
		program: program, theta: append([]float32(nil), theta...), m: make([]float32, len(theta)),
		v:      make([]float32, len(theta)),
		shards: shards, block: max(1, shards>>bits.Len(uint(threads-1))), terms: len(program.TermNames()),
		tree: vector.NewTree(vector.Block{Count: shards}),
	}
	p.scale, p.update = p.scaleRange, p.updateRange
	// for each thread, the partials that can wait for their siblings, and one that is computed
	for range threads * bits.Len(uint(p.block)) {
		p.put(vector.Partial{Values: make([]float32, len(theta)), Terms: make([]float32, p.terms)})
	}
	for i := range threads {
		p.trees = append(p.trees, vector.NewTree(vector.Block{Count: p.block}))
		start := make(chan struct{})
		p.start = append(p.start, start)
		go func() {
			for range start {
				p.compute(i)
				p.finished.Done()
			}
		}()
	}
	return p
}

// close ends the goroutines. No step may be under way.
func (p *plain) close() {
	for _, start := range p.start {
		close(start)
	}
}

// run makes one update: the mean gradient of all shards, clipped to the norm 1, by Adam. It blocks until the
// update is done. After an error there is no further step.
func (p *plain) run() error {
	if err := p.program.Load(p.step, p.theta); err != nil {
		return fmt.Errorf("load the parameters of step %d: %w", p.step, err)
	}
	p.next.Store(0)
	p.finished.Add(len(p.start))
	for _, start := range p.start {
		start <- struct{}{}
	}
	p.finished.Wait()
	if p.err != nil {
		return p.err
	}
	// All blocks are in the tree: it holds their sum.
	sum, _ := p.tree.Take()
	p.gradient, p.factor = sum.Values, 1/float32(p.shards)
	p.ranges(p.scale)
	// From here on factor is that of clipping, which the update applies.
	p.factor = 1
	if norm := math.Sqrt(kernel.SumSquares(sum.Values)); norm > 1 {
		p.factor = float32(1 / norm)
	}
	p.ranges(p.update)
	p.put(sum)
	p.step++
	return nil
}

// ranges calls f on ranges of the parameters; on all cores if all cores are measured.
func (p *plain) ranges(f func(from, to int)) {
	if len(p.start) < runtime.GOMAXPROCS(0) {
		f(0, len(p.theta))
		return
	}
	p.team.Ranges(len(p.theta), vector.Elements, f)
}

// scaleRange multiplies a range of the gradient by factor.
func (p *plain) scaleRange(from, to int) { kernel.Scale(p.gradient[from:to], p.factor) }

// updateRange clips a range of the gradient and updates the parameters by it.
func (p *plain) updateRange(from, to int) {
	g := p.gradient[from:to]
	if p.factor != 1 {
		kernel.Scale(g, p.factor)
	}
	kernel.Adam(p.theta[from:to], p.m[from:to], p.v[from:to], g, kernel.AdamStep{
		Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001, Rate: 1e-5, Eps: 1e-8,
	})
}

// compute takes blocks of shards until none is left, and adds their sums to the tree of the step.
func (p *plain) compute(thread int) {
	tree := p.trees[thread]
	for {
		first := int(p.next.Add(int64(p.block))) - p.block
		if first >= p.shards {
			return
		}
		// The sum of a block is a node of the tree of the step, whichever thread computes it.
		b := vector.Block{First: first, Count: p.block}
		tree.Reset(b, p.put)
		for shard := first; shard < first+p.block; shard++ {
			g := p.get()
			if err := p.program.Gradient(thread, p.step, shard, g.Values, g.Terms); err != nil {
				p.mu.Lock()
				p.err = fmt.Errorf("gradient of shard %d at step %d: %w", shard, p.step, err)
				p.mu.Unlock()
				return
			}
			tree.Add(vector.Block{First: shard, Count: 1}, g, p.put)
		}
		sum, _ := tree.Take()
		p.mu.Lock()
		p.tree.Add(b, sum, p.put)
		p.mu.Unlock()
	}
}

// get takes a partial that nobody uses, or makes one.
func (p *plain) get() vector.Partial {
	p.lending.Lock()
	defer p.lending.Unlock()
	n := len(p.free)
	if n == 0 {
		return vector.Partial{Values: make([]float32, len(p.theta)), Terms: make([]float32, p.terms)}
	}
	g := p.free[n-1]
	p.free = p.free[:n-1]
	return g
}

// put gives a partial back.
func (p *plain) put(g vector.Partial) {
	p.lending.Lock()
	p.free = append(p.free, g)
	p.lending.Unlock()
}
