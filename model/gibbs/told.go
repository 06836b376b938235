package gibbs

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/arhmm"
	"github.com/switchyard-ml/switchyard/rng"
)

// The start from regimes that are told: an autoregressive HMM of x, which knows nothing of where a regime is, divides
// the transitions, and each node of the tree gets the hyperplane that divides its regimes best.

const (
	hmmStarts  = 5       // chains of EM
	hmmSweeps  = 100     // of a chain, at most
	hmmSteps   = 1 << 15 // most steps that EM reads
	hmmCost    = 1 << 27 // most operations of one of its sweeps
	hmmPart    = 256     // steps that follow each other
	divisions  = 64      // of the regimes of a node that are tried
	planeTries = 5       // times gateRounds
)

// tellTree fits the hyperplanes and the dynamics of all leaves to the regimes of an autoregressive HMM. The errors
// are those of tell, and ErrNumeric if a system cannot be fitted.
func (c *Chain) tellTree(s *source) error {
	regimes, err := c.tell(rng.New(s.stream.Uint64(), rng.Init))
	if err != nil {
		return err
	}
	g := &placer{grower: newGrower(c, s), points: make([][]int, c.K)}
	for t, k := range regimes {
		if k >= 0 {
			g.points[k] = append(g.points[k], t)
		}
	}
	// The root has all regimes below it; with one regime the root is its leaf.
	root, set := 0, make([]int, c.K)
	if c.K == 1 {
		root = c.tree.inner()
	}
	for k := range set {
		set[k] = k
	}
	return g.place(root, set)
}

// tell returns the regime of each transition, by an autoregressive HMM with a regime for each leaf; −1 where no
// transition follows. It is the most likely of several fits. It returns ErrNumeric if no fit succeeds.
func (c *Chain) tell(key rng.Key) ([]int, error) {
	settings := arhmm.DefaultSettings()
	settings.Switches, settings.Chains, settings.Sweeps = c.K, hmmStarts, hmmSweeps
	f, err := arhmm.Best(settings, model.Data{NX: c.D, NU: c.Du}, key, c.learned(), func() bool { return true })
	if err != nil {
		return nil, fmt.Errorf("%w: fit an autoregressive HMM: %w", ErrNumeric, err)
	}
	regimes := make([]int, len(c.z))
	var answer model.Segmentation
	for _, span := range c.spans {
		f.Segment(&answer, c.batch(span.from, span.to), 1, rng.Stream{})
		for t := span.from; t < span.to-1; t++ {
			// Row t+1 of a segmentation is about the transition from t.
			p := answer.Probability[(t+1-span.from)*c.K:][:c.K]
			for k, v := range p {
				if v > p[regimes[t]] {
					regimes[t] = k
				}
			}
		}
		regimes[span.to-1] = -1
	}
	return regimes, nil
}

// learned are the steps that EM reads: all, or parts at equal distances. Their number keeps the operations of a
// sweep below hmmCost, but there are at least eight for each of the K·P unknowns of a mean.
func (c *Chain) learned() []model.Batch {
	most := max(min(hmmSteps, hmmCost/(c.K*(c.P+4)*(c.P+4))), 8*c.K*c.P)
	every, n := (len(c.z)+most-1)/most, 0
	var list []model.Batch
	for _, span := range c.spans {
		for from := span.from; from < span.to; from += hmmPart {
			to := min(from+hmmPart, span.to)
			if to-from < 2 {
				continue
			}
			if n%every == 0 {
				list = append(list, c.batch(from, to))
			}
			n++
		}
	}
	return list
}

// batch are the steps [from, to) of x with the controls, rounded to float32, as a batch of one sequence.
func (c *Chain) batch(from, to int) model.Batch {
	narrow := func(v []float64) []float32 {
		list := make([]float32, len(v))
		for i, x := range v {
			list[i] = float32(x)
		}
		return list
	}
	return model.Batch{
		T: to - from, B: 1, NX: c.D, NU: c.Du,
		Observations: narrow(c.x[from*c.D : to*c.D]), Controls: narrow(c.u[from*c.Du : to*c.Du]),
	}
}

// placer puts regimes on the leaves of the tree. Its grower fits hyperplanes and systems.
type placer struct {
	*grower
	points [][]int // of each regime
}

// place puts a set of regimes on the leaves below a node: there are as many leaves as regimes. A leaf gets the
// linear system of all its points.
func (g *placer) place(node int, set []int) error {
	if k := node - g.tree.inner(); k >= 0 {
		e, err := g.fitWhole(g.points[set[0]])
		if err != nil {
			return err
		}
		copy(g.theta.leaf(k, g.dims), e.w)
		copy(g.theta.noise(k, g.dims), e.q)
		return nil
	}
	left, right := g.divided(node, set)
	if err := g.place(g.tree.child[node][0], left); err != nil {
		return err
	}
	return g.place(g.tree.child[node][1], right)
}

// divided sets the hyperplane of a node to the one that tells two parts of its regimes apart best, and returns
// these. The left part has as many regimes as there are leaves on the left. Ways are compared by the likelihood of
// the sides of a sample of the points.
func (g *placer) divided(node int, set []int) (left, right []int) {
	var points []int
	side := make([]int, len(g.z)) // of each point the place of its regime in the set
	for i, k := range set {
		for _, t := range g.points[k] {
			side[t] = i
		}
		points = append(points, g.points[k]...)
	}
	points = sample(points)
	best, plane := math.Inf(-1), make([]float64, g.D+1)
	g.subsets(len(set), g.tree.middle[node]-g.tree.first[node], func(chosen []bool) {
		clear(plane)
		if score := g.separate(plane, points, func(t int) bool { return chosen[side[t]] }); score > best {
			best, left, right = score, nil, nil
			copy(g.theta.plane(node, g.dims), plane)
			for i, k := range set {
				if chosen[i] {
					left = append(left, k)
				} else {
					right = append(right, k)
				}
			}
		}
	})
	return left, right
}

// separate fits a hyperplane, from the given one, with given points on its left, and returns the log likelihood Σ
// ln σ(±ν) of their sides; the least number if that fails. It writes to the weights of the grower.
func (g *placer) separate(plane []float64, points []int, left func(t int) bool) float64 {
	for i, t := range points {
		if g.weight[i] = 0; left(t) {
			g.weight[i] = 1
		}
	}
	for range planeTries {
		if !g.fitGate(plane, points) {
			return -math.MaxFloat64
		}
	}
	total := 0.0
	for i, t := range points {
		total -= matrix.Softplus(float64((1 - 2*g.weight[i]) * height(plane, g.state(t))))
	}
	if math.IsNaN(total) {
		return -math.MaxFloat64
	}
	return total
}

// subsets calls f with subsets of m of n members: all, or if there are more than divisions so many that are drawn.
// Drawn ones may repeat. chosen [n] is the same slice in every call.
func (g *placer) subsets(n, m int, f func(chosen []bool)) {
	count := 1
	for i := range m {
		if count = count * (n - i) / (i + 1); count > divisions {
			break
		}
	}
	chosen := make([]bool, n)
	if count <= divisions {
		choose(chosen, 0, m, f)
		return
	}
	for range divisions {
		clear(chosen)
		for left := m; left > 0; {
			if i := g.draw.stream.IntN(n); !chosen[i] {
				chosen[i] = true
				left--
			}
		}
		f(chosen)
	}
}

// choose calls f with each way to choose m more members, from the given one on. They come in lexical order; chosen
// is as it was after the call.
func choose(chosen []bool, from, m int, f func([]bool)) {
	if m == 0 {
		f(chosen)
		return
	}
	for i := from; i <= len(chosen)-m; i++ {
		chosen[i] = true
		choose(chosen, i+1, m-1, f)
		chosen[i] = false
	}
}
