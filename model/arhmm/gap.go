package arhmm

import "math"

// gap is a run of steps whose lags or values are not all seen. After its last step all lags are seen again, or the
// recording ends. Within it a node is a regime at each of the latest steps, with a normal distribution of the values
// that are missing; the paths of all regimes are followed apart as far back as depth, and merged beyond (see bridge).
type gap struct {
	first, last int
	clean       bool // all lags of the step after the last are seen
	depth       int  // regimes that a node remembers
	edges       int  // where the weights of the edges stand: for each step [nodes before, K]
}

// Limits of a gap.
const (
	mostEdges  = 2048    // between the nodes of two steps, where a node remembers more than one regime
	mostKept   = 1 << 20 // edges of all gaps that a sweep or a pass goes over, likewise
	bestKept   = 1 << 16 // those of Best
	mostMemory = 1 << 20 // values of the covariances of all nodes of a step, likewise
	mostHeld   = 512     // missing values that are inferred together when a gap is smoothed
)

// exact reports whether no paths are merged.
func (g gap) exact() bool {
	steps := g.last - g.first + 1
	return steps <= g.depth || g.clean && steps == g.depth+1
}

// nodes is how many there are after step t, K to the number of steps or of the depth; one before the first.
func (g gap) nodes(K, t int) int {
	n := 1
	for range min(t-g.first+1, g.depth) {
		n *= K
	}
	return n
}

// findGaps lists the gaps of the recording. Without lags each step with a missing value is one. It gives each its
// depth, and room for the weights of its edges.
func (p *passes) findGaps() {
	p.gaps, p.edges = p.gaps[:0], p.edges[:0]
	between := p.between
	if between == 0 {
		between = edgesBetween(mostKept, p.L, p.r)
	}
	for g, ok := p.r.gapAfter(p.L, p.L); ok; g, ok = p.r.gapAfter(g.last+1, p.L) {
		g.depth, g.edges = p.depth(g, between), len(p.edges)
		for s := g.first; s <= g.last; s++ {
			p.edges = append(p.edges, make([]float64, g.nodes(p.K, s-1)*p.K)...)
		}
		p.gaps = append(p.gaps, g)
	}
}

// gapAfter is the first gap that begins at step t or after it, without its depth; false: there is none. It ends,
// clean, with the first step from which on the lags are seen, or with the recording.
func (r recording) gapAfter(t, lags int) (gap, bool) {
	for t < r.T && r.complete(t, lags) {
		t++
	}
	if t >= r.T {
		return gap{}, false
	}
	g := gap{first: t}
	for g.last = t; g.last < r.T; g.last++ {
		if lags == 0 || r.complete(g.last, lags-1) {
			g.clean = true
			return g, true
		}
	}
	g.last--
	return g, true
}

// edgesBetween is the limit of the edges between two steps where so many edges may be kept in all gaps of recordings.
func edgesBetween(kept, lags int, recordings ...recording) int {
	steps := 0
	for _, r := range recordings {
		for g, ok := r.gapAfter(lags, lags); ok; g, ok = r.gapAfter(g.last+1, lags) {
			steps += g.last - g.first + 1
		}
	}
	return max(1, min(mostEdges, kept/max(steps, 1)))
}

// depth is how many regimes a node remembers: as many as the limits allow, at least one. between is that of the edges
// between two steps.
func (p *passes) depth(g gap, between int) int {
	depth, nodes := 1, p.K
	// More regimes than the gap has steps need not be remembered.
	for depth <= g.last-g.first && nodes*p.K*p.K <= between && depth < 64 {
		depth, nodes = depth+1, nodes*p.K
	}
	// What a node holds grows with the depth: covariances have to fit into memory.
	for held := p.held(g, depth); depth > 1 && nodes*held*held > mostMemory; held = p.held(g, depth) {
		depth, nodes = depth-1, nodes/p.K
	}
	return depth
}

// held is the greatest number of missing values that a node holds over the gap. It goes over the steps with a
// running count of those that are not given up yet.
func (p *passes) held(g gap, depth int) int {
	most, now := 0, 0
	for t := g.first - p.L; t <= g.last; t++ {
		now += p.r.missing(t)
		if old := p.oldest(t, depth) - 1; !p.wide && old >= g.first-p.L {
			now -= p.r.missing(old)
		}
		most = max(most, now)
	}
	if p.wide {
		return min(most, mostHeld)
	}
	return most
}

// oldest is the first step whose missing values are still held after step t: the earliest lag of the oldest step
// whose regime a node remembers.
func (p *passes) oldest(t, depth int) int { return t - depth - p.L + 1 }

// missing is how many values of a step are.
func (r recording) missing(t int) int {
	n := 0
	if !r.full[t] {
		d := len(r.x) / r.T
		for _, v := range r.x[t*d : (t+1)*d] {
			if math.IsNaN(v) {
				n++
			}
		}
	}
	return n
}

// weights are those of the edges that lead to step t, from each node before it to each regime, [nodes, K], a view.
func (p *passes) weights(g gap, t int) []float64 {
	at := g.edges
	for s := g.first; s < t; s++ {
		at += g.nodes(p.K, s-1) * p.K
	}
	return p.edges[at : at+g.nodes(p.K, t-1)*p.K]
}

// smoothGap turns the weights of the edges into their probabilities given all observations, after those of the
// regimes at the last step are known, and adds them to smoothed and pairs.
//
// Backward, with e an edge into node c after step t, whose probability given all observations is known,
//
//	p(e | x) = p(e | x up to t) / Σ_{e′ into c} p(e′ | x up to t) · p(c | x)
//
// and a node before step t has the sum of its edges. Merging apart it is exact.
func (p *passes) smoothGap(g gap) {
	var after []float64 // probability of the nodes at the step
	for t := g.last; t >= g.first; t-- {
		edges := p.weights(g, t)
		p.rescale(g, t, edges, after)
		before := make([]float64, len(edges)/p.K)
		smoothed := p.smoothed[t*p.K : (t+1)*p.K]
		clear(smoothed)
		for i, w := range edges {
			node, k := i/p.K, i%p.K
			before[node] += w
			smoothed[k] += w
			// The pair at the first step is one of backward, whose regimes before it are no nodes.
			if t > g.first {
				p.pairs[node%p.K*p.K+k] += w
			}
		}
		after = before
	}
}

// rescale scales the edges that lead to each node so that they sum to its probability. At the last step nodes are the
// regimes, if all lags are seen, and without observations to come probabilities are what they are.
func (p *passes) rescale(g gap, t int, edges, after []float64) {
	nodes := g.nodes(p.K, t)
	if t == g.last {
		if !g.clean {
			return
		}
		nodes, after = p.K, append([]float64(nil), p.smoothed[t*p.K:(t+1)*p.K]...)
	}
	sums := make([]float64, nodes)
	for i, w := range edges {
		sums[i%nodes] += w
	}
	for i, w := range edges {
		if s := sums[i%nodes]; s > 0 {
			edges[i] = float64(w / s * after[i%nodes])
		}
	}
}
