package kvae

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/rng"
)

// oracle is one sequence as the dense joint Gaussian of all its states and codes, in float64: no recursion of a filter
// or a smoother. It reads the parameters by name.
type oracle struct {
	n       *lgssm
	weights map[string][]float64
	steps   int
	codes   [][]float64 // a_t
	u       [][]float64
	seen    []bool

	alpha, a, c [][]float64
	moves       [][]float64 // B_t u_t
	mean        [][]float64 // of z_t before any code is known
	cov         [][]*mat.Dense
	observed    []int // time steps seen so far
}

func newOracle(m *Model, codes, u [][]float64, seen []bool) *oracle {
	o := &oracle{n: &m.state, weights: map[string][]float64{}, steps: len(codes), codes: codes, u: u, seen: seen}
	for _, w := range m.params.Layout() {
		for _, v := range m.params.Values[w.Offset : w.Offset+w.Size] {
			o.weights[w.Name] = append(o.weights[w.Name], float64(v))
		}
	}
	o.run()
	return o
}

// run extends the joint distribution step by step; the systems of a step depend on the codes before it.
func (o *oracle) run() {
	units := len(o.weights["mixing.lstm.recurrent"]) / 4
	units = int(math.Sqrt(float64(units)))
	h, cell := make([]float64, units), make([]float64, units)
	read := o.weights["mixing.start"]
	for t := range o.steps {
		h, cell = o.lstm(read, h, cell)
		alpha := softmax(affine(h, o.weights["mixing.scores.weight"], o.weights["mixing.scores.bias"]))
		o.alpha = append(o.alpha, alpha)
		o.a, o.c = append(o.a, mix(alpha, o.weights["transition.A"])), append(o.c, mix(alpha, o.weights["transition.C"]))
		move := make([]float64, o.n.nz)
		if o.n.nu > 0 {
			move = times(mix(alpha, o.weights["transition.B"]), o.u[t])
		}
		o.moves = append(o.moves, move)
		o.extend(t)
		expected, _ := o.given(t)
		read = times(o.c[t], expected)
		if o.seen[t] {
			o.observed = append(o.observed, t)
			read = o.codes[t]
		}
	}
}

func (o *oracle) lstm(x, h, cell []float64) (out, next []float64) {
	zero := make([]float64, 4*len(h))
	z := affine(x, o.weights["mixing.lstm.input"], o.weights["mixing.lstm.bias"])
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	for i, v := range affine(h, o.weights["mixing.lstm.recurrent"], zero) {
		z[i] += v
	}
	n := len(h)
	for i := range n {
		c := sigmoid(z[n+i])*cell[i] + sigmoid(z[i])*math.Tanh(z[2*n+i])
		next, out = append(next, c), append(out, sigmoid(z[3*n+i])*math.Tanh(c))
	}
	return out, next
}

// extend adds z_t to the joint distribution.
func (o *oracle) extend(t int) {
	nz := o.n.nz
	row := make([]*mat.Dense, t+1)
	if t == 0 {
		o.mean = append(o.mean, make([]float64, nz))
		row[0] = scaled(nz, float64(o.n.start))
		o.cov = append(o.cov, row)
		return
	}
	a := mat.NewDense(nz, nz, o.a[t])
	mean := times(o.a[t], o.mean[t-1])
	for i, v := range o.moves[t] {
		mean[i] += v
	}
	o.mean = append(o.mean, mean)
	for s := range t {
		row[s] = product(a, o.between(t-1, s))
	}
	row[t] = product(product(a, o.between(t-1, t-1)), a.T())
	row[t].Add(row[t], scaled(nz, float64(o.n.q)))
	o.cov = append(o.cov, row)
}

// between is the covariance of z_t and z_s.
func (o *oracle) between(t, s int) mat.Matrix {
	if s <= t {
		return o.cov[t][s]
	}
	return o.cov[s][t].T()
}

// joint is the covariance of all observed codes, and how far they are from their means.
func (o *oracle) joint() (s *mat.Dense, rest *mat.VecDense) {
	na, n := o.n.na, len(o.observed)
	s, rest = mat.NewDense(n*na, n*na, nil), mat.NewVecDense(n*na, nil)
	for i, t := range o.observed {
		for k, v := range times(o.c[t], o.mean[t]) {
			rest.SetVec(i*na+k, o.codes[t][k]-v)
		}
		for j, r := range o.observed {
			part := product(product(o.emission(t), o.between(t, r)), o.emission(r).T())
			if i == j {
				part.Add(part, scaled(na, float64(o.n.r)))
			}
			s.Slice(i*na, (i+1)*na, j*na, (j+1)*na).(*mat.Dense).Copy(part)
		}
	}
	return s, rest
}

func (o *oracle) emission(t int) *mat.Dense { return mat.NewDense(o.n.na, o.n.nz, o.c[t]) }

// given is mean and covariance of z_t given the codes observed so far.
func (o *oracle) given(t int) (mean []float64, cov *mat.Dense) {
	nz, na := o.n.nz, o.n.na
	mean, cov = slices.Clone(o.mean[t]), mat.DenseCopyOf(o.between(t, t))
	if len(o.observed) == 0 {
		return mean, cov
	}
	s, rest := o.joint()
	cross := mat.NewDense(nz, len(o.observed)*na, nil)
	for i, r := range o.observed {
		cross.Slice(0, nz, i*na, (i+1)*na).(*mat.Dense).Copy(product(o.between(t, r), o.emission(r).T()))
	}
	var inverse, shift mat.Dense
	if err := inverse.Inverse(s); err != nil {
		panic(err)
	}
	gain := product(cross, &inverse)
	shift.Mul(gain, rest)
	for i := range mean {
		mean[i] += shift.At(i, 0)
	}
	cov.Sub(cov, product(gain, cross.T()))
	return mean, cov
}

// evidence is log p of the observed codes.
func (o *oracle) evidence() float64 {
	s, rest := o.joint()
	var inverse mat.Dense
	if err := inverse.Inverse(s); err != nil {
		panic(err)
	}
	logDet, _ := mat.LogDet(s)
	return -0.5 * (mat.Inner(rest, &inverse, rest) + logDet + float64(rest.Len())*math.Log(2*math.Pi))
}

func product(a, b mat.Matrix) *mat.Dense {
	var c mat.Dense
	c.Mul(a, b)
	return &c
}

func scaled(n int, v float64) *mat.Dense {
	d := mat.NewDense(n, n, nil)
	for i := range n {
		d.Set(i, i, v)
	}
	return d
}

// affine is x·W + b for a row x.
func affine(x, w, b []float64) []float64 {
	y := slices.Clone(b)
	for i, v := range x {
		for j := range y {
			y[j] += v * w[i*len(y)+j]
		}
	}
	return y
}

// times is M·x for a column x.
func times(m, x []float64) []float64 {
	y := make([]float64, len(m)/len(x))
	for i := range y {
		for j, v := range x {
			y[i] += m[i*len(x)+j] * v
		}
	}
	return y
}

func mix(alpha, base []float64) []float64 {
	y := make([]float64, len(base)/len(alpha))
	for k, w := range alpha {
		for i := range y {
			y[i] += w * base[k*len(y)+i]
		}
	}
	return y
}

func softmax(x []float64) []float64 {
	y, sum := make([]float64, len(x)), 0.0
	for i, v := range x {
		y[i] = math.Exp(v)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

// lively is a model whose mixing weights and matrices differ much from step to step.
func lively(d model.Data, change func(*Settings)) *Model {
	m := newModel(tiny(func(s *Settings) {
		s.Code, s.InitialVariance = 2, 2
		if change != nil {
			change(s)
		}
	}), d)
	draws := rng.New(8, rng.Init).At(0, 0, 0)
	for _, w := range m.params.Layout() {
		scale := map[string]float64{
			"mixing.lstm.input": 1, "mixing.lstm.recurrent": 1, "mixing.scores.weight": 4, "mixing.start": 1,
			"transition.A": 0.4, "transition.B": 1, "transition.C": 1,
		}[w.Name]
		for i := range w.Size {
			m.params.Values[w.Offset+i] += float32(scale * draws.Normal())
		}
	}
	m.params.Pack()
	return m
}

// gappy is a batch of which observations are missing: of the first sequence the second and third, of the next the first
// and the last.
func gappy(d model.Data, steps, n int) model.Batch {
	b := modeltest.Case{NX: d.NX, NU: d.NU}.Batch(steps, n)
	b.Seen = slices.Repeat([]float32{1}, len(b.Observations))
	for _, at := range [][2]int{{1, 0}, {2, 0}, {0, 1}, {steps - 1, 1}} {
		row := at[0]*n + at[1]
		b.Seen[row*d.NX], b.Observations[row*d.NX] = 0, 0
	}
	return b
}

// oraclesOf are those of the sequences of a batch with the given codes.
func oraclesOf(m *Model, b model.Batch, codes []float32) []*oracle {
	na := m.state.na
	var list []*oracle
	for i := range b.B {
		var a, u [][]float64
		var seen []bool
		for t := range b.T {
			row := t*b.B + i
			a = append(a, wide(codes[row*na:][:na]))
			u = append(u, wide(b.Controls[row*b.NU:][:b.NU]))
			seen = append(seen, b.Seen == nil || !slices.Contains(b.Seen[row*b.NX:][:b.NX], 0))
		}
		list = append(list, newOracle(m, a, u, seen))
	}
	return list
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// near compares a row with what it should be.
func near(t *testing.T, what string, step, sequence int, got []float32, want []float64) {
	t.Helper()
	for i, v := range want {
		if math.Abs(float64(got[i])-v) > 1e-4*(1+math.Abs(v)) {
			t.Errorf("%s of step %d, sequence %d: %v, want %v", what, step+1, sequence, got, want)
			return
		}
	}
}

// settingsOf are the dimensions and batches of the tests against the oracle.
func settingsOf() map[string]struct {
	d model.Data
	b model.Batch
} {
	plain := model.Data{NX: 3}
	type setting = struct {
		d model.Data
		b model.Batch
	}
	return map[string]setting{
		"all seen": {plain, modeltest.Case{NX: 3}.Batch(6, 3)},
		"controls": {controlled, modeltest.Case{NX: 3, NU: 2}.Batch(6, 3)},
		"missing":  {plain, gappy(plain, 6, 3)},
		"both":     {controlled, gappy(controlled, 6, 3)},
		"one step": {controlled, modeltest.Case{NX: 3, NU: 2}.Batch(1, 2)},
	}
}

// TestFilterAndSmoother_AgainstDenseGaussian: mixing weights, filtered and smoothed moments and the evidence of the codes
// are those of the joint distribution.
func TestFilterAndSmoother_AgainstDenseGaussian(t *testing.T) {
	for name, setting := range settingsOf() {
		t.Run(name, func(t *testing.T) {
			m, b := lively(setting.d, nil), setting.b
			tape := autodiff.NewInferenceTape(m.params)
			draws, codes := modeltest.Noise(9), make([]float32, b.T*b.B*m.state.na)
			draws.Normals(codes)
			f := m.state.filter(tape, newSequence(tape, b, tape.Constant(codes, b.T*b.B, m.state.na)))
			s := f.smooth()
			var evidence float64
			for i, o := range oraclesOf(m, b, codes) {
				evidence += o.evidence()
				for step := range b.T {
					row := step*b.B + i
					at := func(x autodiff.Tensor) []float32 { return x.Slice(row, row+1).Value }
					near(t, "mixing weights", step, i, at(f.weights), o.alpha[step])
					mean, cov := o.given(step)
					near(t, "smoothed mean", step, i, at(s.mean), mean)
					near(t, "smoothed covariance", step, i, at(s.cov), cov.RawMatrix().Data)
					o := *o
					o.observed = slices.DeleteFunc(slices.Clone(o.observed), func(at int) bool { return at > step })
					mean, cov = o.given(step)
					near(t, "filtered mean", step, i, at(f.mean), mean)
					near(t, "filtered covariance", step, i, at(f.cov), cov.RawMatrix().Data)
				}
			}
			if got := -float64(f.negativeLogEvidence()); math.Abs(got-evidence) > 1e-4*math.Abs(evidence) {
				t.Errorf("log evidence %v, want %v", got, evidence)
			}
		})
	}
}
