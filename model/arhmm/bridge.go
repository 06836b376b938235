package arhmm

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// place is a missing value: channel i of step t. Lists of places are in order of time, then of channels.
type place struct{ t, i int }

// mixture is what is known of the missing values after a step: for each node a weight and a normal distribution.
// A node is a number whose digits to the base K are the regimes of the latest steps, the latest one last.
type mixture struct {
	held        []place
	weights     []float64 // of the nodes, given the observations up to the step
	means, covs []float64 // [nodes,q], [nodes,q,q]
}

// resize makes room for so many nodes over the held values; weights and moments are undefined.
func (m *mixture) resize(nodes int, held []place) {
	q := len(held)
	m.held = append(m.held[:0], held...)
	m.weights, m.means, m.covs = grown(m.weights, nodes), grown(m.means, nodes*q), grown(m.covs, nodes*q*q)
}

// node returns mean [q] and covariance [q,q] of a node, views.
func (m *mixture) node(n int) (mean, cov []float64) {
	q := len(m.held)
	return m.means[n*q : (n+1)*q], m.covs[n*q*q : (n+1)*q*q]
}

// visitor is told what a bridge knows. At the last step of a gap it sees each edge: the node before, the regime,
// and the distribution of the missing values given both. What it is given is overwritten after the call.
type visitor interface {
	level(g gap, t int, m *mixture)
	edge(g gap, node, k int, held []place, mean, cov []float64)
}

// bridge carries the regimes, and the values that are missing, over a gap:
//
//	p(m, x_t | path) = N(m̄, C) N(x_t; W_k f(m), Q_k),  conditioned on what is seen of x_t
//
// m are the missing values so far. Nodes that differ only in regimes older than the depth are merged to one with
// their mean and covariance; without merging all of this is exact. All of it is scratch of one goroutine.
type bridge struct {
	now, next    mixture
	held         []place
	mean, cov    []float64 // [q], [q,q] of an edge
	columns      []int     // [q] column of W that multiplies a held value; −1: none
	cross, noise []float64 // [D,q] Cov(x_t, m), [D,D] Cov(x_t)
	seen, gain   []float64 // [n,n] Cholesky factor of the seen, [n,q] L⁻¹ Cov(x_seen, ·)
}

// beginGap sets what is known before a gap: the given observations that are missing are independent, with the mean and
// the variance of their channels.
func (p *passes) beginGap(g gap) {
	b := &p.bridge
	b.held = b.held[:0]
	if g.first == p.L {
		for t := range p.L {
			b.held = p.r.appendMissing(b.held, t)
		}
	}
	b.now.resize(1, b.held)
	b.now.weights[0] = 1
	mean, cov := b.now.node(0)
	clear(cov)
	for j, h := range b.held {
		mean[j], cov[j*len(mean)+j] = p.start[h.i], p.start[p.D+h.i]
	}
}

// appendMissing appends the missing values of step t.
func (r recording) appendMissing(held []place, t int) []place {
	if !r.full[t] {
		d := len(r.x) / r.T
		for i, v := range r.x[t*d : (t+1)*d] {
			if math.IsNaN(v) {
				held = append(held, place{t, i})
			}
		}
	}
	return held
}

// crossGap goes over a gap, whose first step has regimes with the predicted probabilities. It sets what is
// filtered and adds to the log likelihood, unless there is a visitor, whom it tells what it knows.
//
// After each step the weight of an edge is p(node before, regime | observations up to the step). Weights stay in
// p.edges for smoothGap and for visitors; the last digits of the nodes give the filtered regimes. A visitor comes
// after them, and reads weights that have been smoothed, if backward came in between.
func (p *passes) crossGap(g gap, v visitor) {
	b := &p.bridge
	p.beginGap(g)
	for t := g.first; t <= g.last; t++ {
		before := len(b.now.weights)
		// Held values are in order of time: those that are given up stand first.
		drop := 0
		for drop < len(b.now.held) && p.drops(g, t, drop) {
			drop++
		}
		b.held = p.r.appendMissing(append(b.held[:0], b.now.held[drop:]...), t)
		logs := grown(p.edgeLogs, before*p.K)
		p.edgeLogs = logs
		// No node follows the last step of a clean gap: its edges are not merged.
		if t == g.last && g.clean {
			for i := range logs {
				logs[i] = p.extend(g, t, i/p.K, i%p.K, drop)
				if v != nil {
					v.edge(g, i/p.K, i%p.K, b.held, b.mean, b.cov)
				}
			}
		} else {
			if t == g.last && v != nil {
				for i := range logs {
					p.extend(g, t, i/p.K, i%p.K, drop)
					v.edge(g, i/p.K, i%p.K, b.held, b.mean, b.cov)
				}
			}
			b.next.resize(g.nodes(p.K, t), b.held)
			for c := range b.next.weights {
				p.merge(g, t, c, drop)
			}
		}
		total := normalise(logs)
		if v == nil {
			p.logLikelihood += total
			copy(p.weights(g, t), logs)
			filtered := p.filtered[t*p.K : (t+1)*p.K]
			clear(filtered)
			for i, w := range logs {
				filtered[i%p.K] += w
			}
		}
		if t == g.last && g.clean {
			return
		}
		// A node is the number of an edge without its oldest digits.
		clear(b.next.weights)
		for i, w := range logs {
			b.next.weights[i%len(b.next.weights)] += w
		}
		b.now, b.next = b.next, b.now
		if v != nil {
			v.level(g, t, &b.now)
		}
	}
}

// drops reports whether the held value with an index is given up before step t: one that no lag and no step that
// is still to be counted reads. When a gap is smoothed, all are held that there is room for.
func (p *passes) drops(g gap, t, index int) bool {
	s := p.bridge.now.held[index].t
	if p.wide {
		return s < t-p.L && len(p.bridge.now.held)-index+p.r.missing(t) > mostHeld
	}
	return s < p.oldest(t, g.depth)
}

// normalise turns logarithms into shares and returns the logarithm of their sum. The largest is taken out before
// the exponentials.
func normalise(logs []float64) float64 {
	largest, total := math.Inf(-1), 0.0
	for _, v := range logs {
		largest = max(largest, v)
	}
	for i, v := range logs {
		logs[i] = matrix.Exp(v - largest)
		total += logs[i]
	}
	for i := range logs {
		logs[i] /= total
	}
	return largest + matrix.Log(total)
}

// merge makes node c after step t of the edges that lead to it, and writes their logarithms. Edges e with e ≡ c
// modulo the number of nodes differ in the oldest regime alone; with shares v_e, Σ v = 1,
//
//	m̄ = Σ v_e m_e,  C = Σ v_e (C_e + m_e m_eᵀ) − m̄ m̄ᵀ
//
// are the moments of their mixture. Sums are relative to the largest logarithm so far and are scaled down when a
// larger one comes, so that no edge has to be kept.
func (p *passes) merge(g gap, t, c, drop int) {
	b := &p.bridge
	nodes, edges := len(b.next.weights), p.edgeLogs
	mean, cov := b.next.node(c)
	q := len(mean)
	if nodes >= len(edges) { // one edge leads to each node
		edges[c] = p.extend(g, t, c/p.K, c%p.K, drop)
		copy(mean, b.mean)
		copy(cov, b.cov)
		return
	}
	clear(mean)
	clear(cov)
	largest, total := math.Inf(-1), 0.0
	for e := c; e < len(edges); e += nodes {
		edges[e] = p.extend(g, t, e/p.K, e%p.K, drop)
		scale, weight := 1.0, 1.0
		if math.IsInf(largest, -1) { // the first, or those before it have no weight
			scale, largest = 0, edges[e]
		} else if edges[e] > largest {
			scale, largest = matrix.Exp(largest-edges[e]), edges[e]
		} else {
			weight = matrix.Exp(edges[e] - largest)
		}
		total = float64(total*scale) + weight
		for i, v := range b.mean {
			mean[i] = float64(mean[i]*scale) + float64(weight*v)
			for j := range i + 1 {
				square := b.cov[i*q+j] + float64(v*b.mean[j])
				cov[i*q+j] = float64(cov[i*q+j]*scale) + float64(weight*square)
			}
		}
	}
	for i := range mean {
		mean[i] /= total
		for j := range i + 1 {
			cov[i*q+j] = cov[i*q+j]/total - float64(mean[i]*mean[j])
		}
	}
	matrix.Mirror(cov, q)
}

// extend follows a node to regime k at step t. It writes the distribution of b.held, the values that are held on
// and those of the step that are missing, and returns the logarithm of the weight of the edge.
//
// With h the held values, the joint normal distribution of (h, x_t) in regime k has its mean and covariance from
// expect. Rows of held and of missing values are gathered in b.mean and b.cov, lower triangle, those of seen
// channels in b.gain and b.seen; condition then takes in what was seen.
func (p *passes) extend(g gap, t, node, k, drop int) float64 {
	b, D := &p.bridge, p.D
	m, c := b.now.node(node)
	q0, q := len(m), len(b.held)
	kept := q0 - drop
	p.expect(t, k, m, c, kept, drop)
	n := 0 // seen channels
	x := p.r.x[t*D : (t+1)*D]
	b.mean, b.cov = grown(b.mean, q), grown(b.cov, q*q)
	b.seen, b.gain = grown(b.seen, D*D), grown(b.gain, D*q)
	mean := p.means[k*D : (k+1)*D]
	copy(b.mean, m[drop:])
	for i := range kept {
		copy(b.cov[i*q:i*q+kept], c[(i+drop)*q0+drop:(i+drop+1)*q0])
	}
	row := kept
	for i, v := range x { // rows of the missing channels, below those of the held values
		if !math.IsNaN(v) {
			n++
			continue
		}
		b.mean[row] = mean[i]
		copy(b.cov[row*q:], b.cross[i*q0+drop:(i+1)*q0])
		column := kept
		for j := range i + 1 {
			if math.IsNaN(x[j]) {
				b.cov[row*q+column] = b.noise[i*D+j]
				column++
			}
		}
		row++
	}
	row = 0
	for i, v := range x { // rows of the seen channels
		if math.IsNaN(v) {
			continue
		}
		p.residual[row] = v - mean[i]
		copy(b.gain[row*q:], b.cross[i*q0+drop:(i+1)*q0])
		column, behind := 0, kept
		for j, w := range x {
			if math.IsNaN(w) {
				b.gain[row*q+behind] = b.noise[i*D+j]
				behind++
			} else {
				b.seen[row*n+column] = b.noise[i*D+j]
				column++
			}
		}
		row++
	}
	return p.prior(g, t, node, k) + b.condition(p.residual[:n], n, q)
}

// prior is the logarithm of the weight of an edge before the step is seen: of the predicted regime at the first
// step, else ln p(node | past) + ln P, from the latest regime of the node, its last digit.
func (p *passes) prior(g gap, t, node, k int) float64 {
	if t == g.first {
		return matrix.Log(p.predicted[t*p.K+k])
	}
	return matrix.Log(p.bridge.now.weights[node]) + matrix.Log(p.transition[node%p.K*p.K+k])
}

// expect writes the mean of x_t, its covariance with what a node holds, and its covariance: with W_h the columns
// of W_k that multiply the held values, of covariance C,
//
//	E x_t = W_k f(m),  Cov(x_t, h) = W_h C,  Cov(x_t) = Q_k + W_h C W_hᵀ
//
// Held values that are older than the lags have no column.
func (p *passes) expect(t, k int, m, c []float64, kept, drop int) {
	b, D, q0 := &p.bridge, p.D, len(m)
	for l := range p.L {
		copy(p.lags[l*D:(l+1)*D], p.r.x[(t-1-l)*D:(t-l)*D])
	}
	b.columns = b.columns[:0]
	// Lags that are missing are held, and have their mean.
	for j, h := range b.now.held {
		column := -1
		if l := t - 1 - h.t; l < p.L {
			column = l*D + h.i
			p.lags[column] = m[j]
		}
		b.columns = append(b.columns, column)
	}
	p.setPast(p.lags, t)
	p.setFeatures(p.lags, p.r.u[t*p.Du:])
	p.predict(k)
	b.cross, b.noise = grown(b.cross, D*q0), grown(b.noise, D*D)
	clear(b.cross)
	for i := range D {
		w := p.w[(k*D+i)*p.P : (k*D+i+1)*p.P]
		for j, column := range b.columns {
			if column >= 0 {
				matrix.AddScaled(b.cross[i*q0:(i+1)*q0], w[column], c[j*q0:(j+1)*q0])
			}
		}
	}
	copy(b.noise, p.q[k*D*D:(k+1)*D*D])
	for i := range D {
		for j, column := range b.columns {
			if column >= 0 {
				for a := range D {
					b.noise[i*D+a] += float64(b.cross[i*q0+j] * p.w[(k*D+a)*p.P+column])
				}
			}
		}
	}
}

// condition corrects what is held by the n seen channels of a step, whose residuals are r, and returns their log
// density. The covariance of what is seen contains Q_k: it is positive definite. With S = L Lᵀ that covariance and
// G = L⁻¹ Cov(seen, held),
//
//	mean += Gᵀ L⁻¹ r,  cov −= Gᵀ G,  ln N(r; 0, S)
//
// It overwrites r.
func (b *bridge) condition(r []float64, n, q int) float64 {
	seen, gain := b.seen[:n*n], b.gain[:n*q]
	matrix.Cholesky(seen, n)
	matrix.SolveLower(seen, r)
	matrix.SolveLowerRows(seen, gain, n, q)
	for o := range n {
		row := gain[o*q : (o+1)*q]
		matrix.AddScaled(b.mean, r[o], row)
		for i, v := range row {
			matrix.AddScaled(b.cov[i*q:i*q+i+1], -v, row[:i+1])
		}
	}
	matrix.Mirror(b.cov[:q*q], q)
	return -float64(0.5*matrix.Dot(r, r)) - matrix.LogDiagonal(seen, n) - float64(0.5*log2Pi*float64(n))
}
