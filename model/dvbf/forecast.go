package dvbf

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"

	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// forecaster answers questions of a trained model. It never sees more than the prefix of a query.
type forecaster struct {
	m        *Model
	tape     *autodiff.Tape
	prefixes statespace.Prefixes
}

var _ model.Filterer = (*forecaster)(nil)

// NewForecaster returns a forecaster over the model's parameters.
func (m *Model) NewForecaster() model.Forecaster {
	return &forecaster{m: m, tape: autodiff.NewInferenceTape(m.params)}
}

// Clone returns a forecaster for another goroutine.
func (f *forecaster) Clone() model.Forecaster { return f.m.NewForecaster() }

// Dims are the sizes of the model.
func (f *forecaster) Dims() model.Dims { return f.m.dims }

// Filter infers mean and standard deviation of z_t, given the drawn z_{t−1}, and the mixing weights α_t.
func (f *forecaster) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	dst.Resize(prefix.T, prefix.B, f.m.dims.NZ, f.m.dims.M)
	f.prefixes.Each(f.tape, prefix, 1, prefix.T, func(g statespace.Group) {
		p := f.m.infer(f.tape, g.Batch, 1, &noise)
		f.m.states(f.tape, p).Filtering(dst, g, p.weights)
	})
}

// states are the moments of z_t: with C = Σᵢ αᵢ Cᵢ, the mean is z_t + (μ_t − w_t)·C and the variances are the diagonal
// of Cᵀ·diag(σ_t²)·C.
func (m *Model) states(t *autodiff.Tape, p posterior) statespace.Posterior {
	nz := m.dims.NZ
	first := p.z.Rows - p.w.Rows
	s := statespace.Posterior{Z: p.z, Mean: t.NewConstant(p.w.Rows, nz), Variance: t.NewConstant(p.w.Rows, nz)}
	copy(s.Mean.Value, p.z.Value[first*nz:])
	clear(s.Variance.Value)
	for row := range p.w.Rows {
		mean, variance := s.Mean.Value[row*nz:][:nz], s.Variance.Value[row*nz:][:nz]
		for k := range nz {
			at := row*nz + k
			shift := p.mean.Value[at] - p.w.Value[at]
			for j := range nz {
				var c float32
				for i, alpha := range p.weights.Value[row*m.dims.M:][:m.dims.M] {
					c += float32(alpha * m.noiseMatrix(i)[k*nz+j])
				}
				mean[j] += float32(shift * c)
				variance[j] += float32(p.variance.Value[at] * float32(c*c))
			}
		}
	}
	return s
}

// Forecast filters the prefix and rolls out q.Samples latent paths under the given controls.
func (f *forecaster) Forecast(dst *model.Forecast, q model.Query) {
	rows := max(q.Prefix.T, q.Horizon)
	statespace.Answer(&f.prefixes, f.tape, dst, q, f.m.dims, rows, func(g statespace.Group, noise *rng.Stream) {
		p := f.m.infer(f.tape, g.Batch, g.Paths, noise)
		statespace.Collect(dst, q, g, f.rollOut(q, p, g, noise), noise)
	})
}

// rollOut continues the filtered paths of a group by draws of the noise from the prior, after another draw of the last
// noise of the prefix.
func (f *forecaster) rollOut(q model.Query, p posterior, g statespace.Group, noise *rng.Stream) statespace.Paths {
	t, nz, nu := f.tape, f.m.dims.NZ, f.m.dims.NU
	rows := g.Rows()
	again := min(p.steps, 1)
	steps := again + q.Horizon
	z, u := t.New((steps+1)*rows, nz), t.NewConstant(steps*rows, nu)
	w := statespace.Normals(t, noise, steps*rows, nz)
	copy(u.Value[again*rows*nu:], statespace.Controls(t, q, nu, g).Value)
	copy(z.Block(0, rows).Value, p.z.Block(p.steps-again, rows).Value)
	if again > 0 {
		for path := range g.Paths {
			copy(u.Block(path, g.N).Value, g.Batch.Controls[p.steps*g.N*nu:])
		}
		mean, variance := p.mean.Block(p.steps-1, rows), p.variance.Block(p.steps-1, rows)
		for i, e := range w.Block(0, rows).Value {
			sd := float32(math.Sqrt(float64(variance.Value[i])))
			w.Block(0, rows).Value[i] = mean.Value[i] + float32(sd*e)
		}
	}
	d := f.m.begin(t, z, u, w, rows)
	for i := range steps {
		d.step(i)
	}
	mean, sd := f.m.emission.Predict(t, z.Slice((again+1)*rows, z.Rows))
	return statespace.Paths{Mean: mean, SD: sd, Weights: d.mixing.Weights.Slice(again*rows, steps*rows)}
}
