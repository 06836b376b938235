package categorical

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

// chain is the switch of one sequence along a fixed path of states, in float64.
type chain struct {
	m                 int
	start, transition []float64   // π and L
	age, hold         []float64   // logits of the first age, and C, [M, D]; nil: the switch has no ages
	scores            [][]float64 // g by step, [M] or [M·M]
	density           [][]float64 // log N(z; μ_j, Q_j) by step
}

// enumerate sums over all Mᵀ paths: the log evidence of the states, and the probability of every system by time step.
// With ages it sums over the ages of the first system too, which say all later ones.
func (c chain) enumerate() (evidence float64, posterior [][]float64) {
	steps, ages := len(c.scores), max(1, len(c.age)/c.m)
	posterior = make([][]float64, steps+1)
	for t := range posterior {
		posterior[t] = make([]float64, c.m)
	}
	path, total := make([]int, steps+1), 0.0
	for number := range ages * int(math.Pow(float64(c.m), float64(steps+1))) {
		age := number % ages // from 0
		number /= ages
		for t := range path {
			path[t] = number % c.m
			number /= c.m
		}
		p := c.start[path[0]] - logSum64(c.start)
		if c.age != nil {
			logits := c.age[path[0]*ages:][:ages]
			p += logits[age] - logSum64(logits)
		}
		for t, s := range c.scores {
			row := make([]float64, c.m)
			for j := range row {
				row[j] = c.transition[path[t]*c.m+j] + s[(path[t]*c.m+j)%len(s)]
				if len(s) == c.m {
					row[j] = c.transition[path[t]*c.m+j] + s[j]
				}
			}
			if c.age != nil {
				row[path[t]] += c.hold[path[t]*ages+age]
			}
			if age = min(age+1, ages-1); path[t+1] != path[t] {
				age = 0
			}
			p += row[path[t+1]] - logSum64(row) + c.density[t][path[t+1]]
		}
		p = math.Exp(p)
		total += p
		for t, s := range path {
			posterior[t][s] += p
		}
	}
	for _, row := range posterior {
		for j := range row {
			row[j] /= total
		}
	}
	return math.Log(total), posterior
}

func logSum64(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v)
	}
	return math.Log(sum)
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// chainOf reads the chain of sequence row off a tape.
func chainOf(m *Model, r *recurrence, row int) chain {
	c, n := m.cfg, r.block
	y := chain{m: c.M, start: wide(m.transition.start.Values()), transition: wide(m.transition.stay.Values())}
	if c.Ages > 0 {
		y.age, y.hold = wide(m.transition.age.Values()), wide(m.transition.hold.Values())
	}
	for i := range r.weights.Rows / n {
		at := i*n + row
		y.scores = append(y.scores, wide(r.scores.Slice(at, at+1).Value))
		d := make([]float64, c.M)
		for j := range d {
			for k := range c.NZ {
				q := float64(r.q.Value[j*c.NZ+k])
				e := float64(r.z.Value[(at+n)*c.NZ+k]) - float64(r.moves.Value[(at*c.M+j)*c.NZ+k])
				if c.Residual {
					e -= float64(r.z.Value[at*c.NZ+k])
				}
				d[j] -= 0.5 * (e*e/q + math.Log(2*math.Pi*q))
			}
		}
		y.density = append(y.density, d)
	}
	return y
}

// TestEvidence_AgainstEnumeration: along a path of states, evidence, filtered and smoothed probabilities of the switch
// and the gradients of L, π, C and the first ages are those of all Mᵀ paths of the switch.
func TestEvidence_AgainstEnumeration(t *testing.T) {
	const steps, n = 5, 2
	for _, ages := range []int{0, 2, 3} {
		for i := range 4 {
			c := tiny()
			c.NZ, c.M, c.Rows, c.Ages = 2, 2+i%2, i > 1, ages
			m := newModel(c)
			draws := modeltest.Noise(1)
			for _, w := range m.transition.chances() {
				w.InitNormal(&draws, 1)
			}
			m.transition.q.Fill(0.8)
			m.Params().Pack()
			tape := autodiff.NewTape(m.Params())
			z, u := tape.New((steps+1)*n, c.NZ), statespace.Normals(tape, &draws, steps*n, c.NU)
			draws.Normals(z.Value)
			r := m.transition.begin(tape, z, u, n, false)
			m.transition.first(&r)
			for i := range steps {
				r.predict(i)
				r.weigh(i)
			}
			tape.Backward(tape.Sum(r.density))
			compare(t, m, tape, &r)
		}
	}
}

// chances are the parameters of the switch alone.
func (n *transition) chances() []*autodiff.Weight {
	list := []*autodiff.Weight{n.start, n.stay}
	if n.hold != nil {
		list = append(list, n.age, n.hold)
	}
	return list
}

func compare(t *testing.T, m *Model, tape *autodiff.Tape, r *recurrence) {
	t.Helper()
	chains := []chain{chainOf(m, r, 0), chainOf(m, r, 1)}
	total := func() (sum float64) {
		for _, c := range chains {
			e, _ := c.enumerate()
			sum += e
		}
		return sum
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 2e-4*(1+math.Abs(want)) {
			t.Errorf("M = %d, D = %d: %s is %v, want %v", m.cfg.M, m.cfg.Ages, what, got, want)
		}
	}
	got := 0.0
	for _, l := range r.density.Value {
		got += float64(l)
	}
	near("evidence", got, total())
	for i, w := range m.transition.chances() {
		for k := range w.Size() {
			move := func(h float64) float64 {
				for _, c := range chains {
					[][]float64{c.start, c.transition, c.age, c.hold}[i][k] += h
				}
				return total()
			}
			const h = 1e-4
			slope := (move(h) - move(-2*h)) / (2 * h)
			move(h)
			near("gradient of "+w.Name, float64(tape.Gradient[w.Offset+k]), slope)
		}
	}
	m.checkScores(near, r, chains)
	m.check(near, r, chains)
}

// checkScores compares the gradients of g(z, u) at every step.
func (m *Model) checkScores(near func(what string, got, want float64), r *recurrence, chains []chain) {
	const h = 1e-4
	for row, c := range chains {
		for step, s := range c.scores {
			for k := range s {
				value := s[k]
				s[k] = value + h
				up, _ := c.enumerate()
				s[k] = value - h
				down, _ := c.enumerate()
				s[k] = value
				got := r.scores.Block(step, r.block).Slice(row, row+1).Grad[k]
				near("gradient of a score", float64(got), (up-down)/(2*h))
			}
		}
	}
}

// check compares the last filtered belief, and all smoothed ones.
func (m *Model) check(near func(what string, got, want float64), r *recurrence, chains []chain) {
	last := r.belief.Block(r.weights.Rows/r.block, r.block)
	for row, c := range chains {
		_, posterior := c.enumerate()
		for j, b := range last.Slice(row, row+1).Value {
			near("filtered", math.Exp(float64(b)), posterior[len(posterior)-1][j])
		}
	}
	r.smooth()
	for row, c := range chains {
		_, posterior := c.enumerate()
		for step, want := range posterior {
			for j, b := range r.belief.Block(step, r.block).Slice(row, row+1).Value {
				near("smoothed", float64(b), want[j])
			}
		}
	}
}

// exact is the model of a linear-Gaussian system with two equal systems, whose posterior of two steps is the true one.
func exact(o modeltest.LinearGaussian) *Model { return exactOf(o, 0) }

// exactOf is that model with so many ages.
func exactOf(o modeltest.LinearGaussian, ages int) *Model {
	c := tiny()
	c.Dims = model.Dims{NX: 1, NU: 1, NZ: 1, M: 2, Ages: ages}
	c.Hidden, c.EncoderHidden, c.InitialObservations, c.Skip, c.VarianceFloor = 6, 2, 2, false, 1e-12
	m := newModel(c)
	o.SetInitial(m, 6)
	o.SetEmission(m)
	modeltest.Set(m, "encoder.dense.weight", 1, -1)
	modeltest.Set(m, "encoder.dense.bias")
	modeltest.Set(m, "encoder.mean.weight", 1/o.C, -1/o.C)
	modeltest.Set(m, "encoder.mean.bias")
	modeltest.Set(m, "encoder.sd.weight")
	modeltest.Set(m, "encoder.sd.bias", modeltest.SDHead(o.R/(o.C*o.C)))
	modeltest.Set(m, "transition.weight", o.A, o.A, o.B, o.B)
	modeltest.Set(m, "transition.bias")
	q := modeltest.SoftplusInverse(o.Q)
	modeltest.Set(m, "transition.Q", q, q)
	modeltest.Set(m, "transition.Q_inference", q, q)
	return m
}

// TestLoss_AgainstDenseGaussian: of equal systems the bound is that of one, which is the log evidence at the exact
// posterior; forecasts have the moments of the Kalman filter.
func TestLoss_AgainstDenseGaussian(t *testing.T) {
	o := modeltest.LinearGaussian{Start: 1.3, A: -0.2, B: 0.7, C: 0.8, Q: 0.3, R: 0.2}
	o.CheckBound(t, exact(o), 2)
	o.CheckImportance(t, exact(o))
	o.CheckForecast(t, exact(o))
}
