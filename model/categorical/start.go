package categorical

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/arhmm"
	"github.com/switchyard-ml/switchyard/rng"
)

var _ model.Starter = (*Model)(nil)

// The size of a start: most steps of recordings that it reads, and the chains of EM.
const (
	startSteps  = 1 << 15
	startCost   = 1 << 27 // most operations of a sweep
	startChains = 5
	startSweeps = 100
	startPieces = 20 // recordings that are read although gaps take their time, if there are as many
)

// A start is fitted for at most so many latent dimensions or systems, and channels.
const (
	MostStarted  = 32
	MostEmbedded = 256
)

const (
	leastChance  = 1e-3 // added to probabilities before their logarithm is taken
	idleVariance = 0.05 // Q of latent dimensions that the start has no use for
)

// StartSteps is how many time steps a start reads at most, so that it takes seconds: fewer with many systems of
// many dimensions, but at least eight for each unknown of a mean. 0: the parameters begin as they are drawn.
func (m *Model) StartSteps() int {
	c := m.cfg
	if !c.Start {
		return 0
	}
	row := c.NZ + c.NU + 1
	return max(min(startSteps, startCost/(c.M*(row+4)*(row+4))), 8*c.M*row)
}

// Start fits an autoregressive HMM with a regime for each system to recordings, in the coordinates of an
// embedding, and sets the parameters so that the model is that HMM, but for a little noise of the measurement:
//
//	A_j, B_j, c_j, Q_j: those of regime j;  L = ln P, g = 0, C = 0;  π: that of the HMM
//	encoder, decoder and initial network: linear, with zeros in the networks beside the linear maps
//
// With at least twice as many latent dimensions as channels the state holds the latest observations, newest first,
// and the HMM has as many lags. Dimensions that are left over are noise without memory, which nothing reads.
//
// The recordings are sequences one by one, B = 1. The result is a function of the model and the recordings. It
// returns ErrStart where no HMM can be fitted, and model.ErrStopped once goOn is false.
func (m *Model) Start(recordings []model.Batch, goOn func() bool) error {
	c := m.cfg
	e, err := newEmbedding(c.NX, c.NZ, recordings)
	if err != nil {
		return err
	}
	// As many lags as the latent dimensions hold, all chains of EM, and a seed of the key of the model.
	s := arhmm.DefaultSettings()
	s.Switches, s.Order, s.Chains, s.Sweeps = c.M, c.NZ/e.n, startChains, startSweeps
	draws := m.key.At(1, 0, 0) // step 0 drew the parameters
	y := arhmm.Thinned(e.apply(recordings), c.M, s.Order, startPieces)
	f, err := arhmm.Best(s, model.Data{NX: e.n, NU: c.NU}, rng.New(draws.Uint64(), rng.Init), y, goOn)
	if err != nil {
		return fmt.Errorf("%w: fit an autoregressive HMM (model.start=random needs none): %w", ErrStart, err)
	}
	start{m: m, e: e, lags: s.Order, f: f}.set()
	m.Params().Pack()
	return nil
}

// start turns a fitted HMM of the embedded channels y into parameters of a model.
type start struct {
	m    *Model
	e    embedding
	lags int
	f    *arhmm.Forecaster
}

// set writes all parameters that the start decides.
func (s start) set() {
	n, c := s.e.n, s.m.cfg
	y, arrays := s.f.Systems(), map[string][]float64{}
	for _, a := range s.f.Arrays() {
		arrays[a.Name] = a.Values
	}
	// The least noise of a channel of y over the regimes.
	least := make([]float64, n)
	for i := range least {
		least[i] = y.Q[i*(y.NZ+1)]
		for j := range c.M {
			least[i] = min(least[i], y.Q[(j*y.NZ+i)*y.NZ+i])
		}
	}
	ofX, ofY := s.e.noise(least)
	s.chances(arrays["regimes.first"], arrays["regimes.transition"])
	s.systems(y, ofY)
	s.measure(ofX, ofY, arrays["start.variance"])
	s.begin(arrays["start.mean"], arrays["start.variance"], ofY)
}

// chances sets π, L and g. A little is added to each probability, so that no transition is out of the question;
// ages change nothing at first.
func (s start) chances(first, transition []float64) {
	n := s.m.transition
	for i, p := range first {
		n.start.Values()[i] = float32(matrix.Log(p + leastChance))
	}
	for i, p := range transition {
		n.stay.Values()[i] = float32(matrix.Log(p + leastChance))
	}
	if n.hold != nil {
		clear(n.hold.Values())
		clear(n.age.Values())
	}
	clear(n.scores.W.Values())
	clear(n.scores.B.Values())
}

// systems sets the moves and variances of all systems: rows of y as the HMM has them, rows of lags that move on
// with as little noise as a measurement has, and idle ones. The identity of a residual transition is taken off.
func (s start) systems(y model.Systems, measured []float64) {
	c, n := s.m.cfg, s.e.n
	w, b := s.m.transition.systems.W.Values(), s.m.transition.systems.B.Values()
	clear(w)
	clear(b)
	q, inference := make([]float64, c.M*c.NZ), make([]float64, c.M*c.NZ)
	for j := range c.M {
		at := func(in, out int) *float32 { return &w[in*c.M*c.NZ+j*c.NZ+out] }
		for i := range c.NZ {
			k := j*c.NZ + i
			switch {
			case i < n:
				row := (j*y.NZ + i)
				for in := range s.lags * n {
					*at(in, i) = float32(y.A[row*y.NZ+in])
				}
				for in := range c.NU {
					*at(c.NZ+in, i) = float32(y.B[row*c.NU+in])
				}
				b[k] = float32(y.Bias[row])
				q[k] = y.Q[row*y.NZ+i]
				inference[k] = q[k]
			case i < s.lags*n:
				*at(i-n, i) = 1
				q[k], inference[k] = measured[i%n], measured[i%n]
			default:
				q[k], inference[k] = idleVariance, 2*idleVariance
			}
			if c.Residual {
				*at(i, i)--
			}
		}
	}
	s.m.transition.q.Set(q)
	s.m.transition.qInf.Set(inference)
}

// measure sets encoder, y = Cᵀ(x − d), and decoder, x = C y + d, with the variances of both. Of a lag a
// measurement says next to nothing: its variance is that of the channel. The decoder does not read idle
// dimensions.
func (s start) measure(ofX, ofY, variance []float64) {
	c, n := s.m.cfg, s.e.n
	read, shift, spread := make([]float64, c.NX*c.NZ), make([]float64, c.NZ), make([]float64, c.NZ)
	write := make([]float64, c.NZ*c.NX)
	for i := range c.NZ {
		switch {
		case i < n:
			spread[i] = ofY[i]
		case i < s.lags*n:
			spread[i] = variance[i%n]
		default:
			spread[i] = 2 * idleVariance
		}
	}
	for i := range c.NX {
		for j := range n {
			v := s.e.c[i*n+j]
			read[i*c.NZ+j], write[j*c.NX+i] = v, v
			shift[j] -= float64(v * s.e.d[i])
		}
	}
	s.m.encoder.SetLinear(read, shift, roots(spread))
	s.m.Emission.SetLinear(write, s.e.d, roots(ofX))
}

// begin sets the initial network: z_1 is the first observation, also in place of those before it. h is z_1 from
// the mean of its channel, in standard deviations of it.
func (s start) begin(mean, variance, ofY []float64) {
	const before = 0.3 // deviation of a lag of the first observation, in standard deviations of the channel
	c, n := s.m.cfg, s.e.n
	w, b, sd := make([]float64, c.NX*c.NZ), make([]float64, c.NZ), make([]float64, c.NZ)
	scale, shift := make([]float64, c.NZ), make([]float64, c.NZ)
	own := roots(variance)
	for i := range c.NZ {
		if i >= s.lags*n {
			sd[i], scale[i] = 1, roots([]float64{idleVariance})[0]
			continue
		}
		j := i % n
		scale[i], shift[i] = max(own[j], 1e-6), mean[j]
		if sd[i] = before; i < n {
			sd[i] = min(roots(ofY[j : j+1])[0]/scale[i], 1)
		}
		b[i] = -float64(mean[j] / scale[i])
		for k := range c.NX {
			v := float64(s.e.c[k*n+j] / scale[i])
			w[k*c.NZ+i] = v
			b[i] -= float64(v * s.e.d[k])
		}
	}
	s.m.Initial.SetLinear(w, b, sd, scale, shift)
}
