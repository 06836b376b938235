package statespace

import (
	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
)

// SetLinear makes the encoder a linear measurement with constant deviations: the mean is x·W + b, W of [nx, nz]. It
// needs the map beside the network, whose heads become zero. Hidden layers stay as they are.
func (e Encoder) SetLinear(w, b, sd []float64) {
	constant(e.mean, b)
	deviations(e.sd, sd, SDFloor)
	put(e.skip.w.Values(), w)
}

// SetLinear makes the decoder linear: the mean is z·W + b, W of [nz, nx], with constant deviations. It is for a
// Gaussian emission with the map beside the network.
func (n Emission) SetLinear(w, b, sd []float64) {
	constant(n.mean, b)
	if n.constant != nil {
		put(n.constant.Values(), softplusInverses(sd, n.floor))
	} else {
		deviations(n.sd, sd, n.floor)
	}
	put(n.skip.w.Values(), w)
}

// SetLinear makes q(h) = N(x_1·W + b, sd²), W of [nx, nz], and z_1 = scale·h + shift, one by one. It needs the map
// beside the network and a hidden layer of t of at least 2·nz units: s·h = h + (s−1)·relu(h) − (s−1)·relu(−h).
func (n Initial) SetLinear(w, b, sd, scale, shift []float64) {
	constant(n.mean, b)
	deviations(n.sd, sd, SDFloor)
	s := n.skip.w.Values()
	clear(s)
	put(s, w)
	constant(n.out, shift)
	nz, width := n.cfg.NZ, n.cfg.Hidden
	// Units 2i and 2i+1 of the hidden layer are relu(h_i) and relu(−h_i); the others keep their weights.
	hidden, out := n.hidden.W.Values(), n.out.W.Values()
	for i := range nz {
		for k, sign := range [2]float32{1, -1} {
			unit := 2*i + k
			n.hidden.B.Values()[unit] = 0
			for j := range nz {
				hidden[j*width+unit] = 0
			}
			hidden[i*width+unit] = sign
			out[unit*nz+i] = sign * float32(scale[i]-1)
		}
	}
}

// Set makes softplus(v) plus the floor the given variances, [M, nz], as far as they exceed it; what does not
// becomes little more than the floor.
func (v Variances) Set(variances []float64) {
	put(v.base.Values(), softplusInverses(variances, float64(v.floor)))
}

// constant makes an affine map one that does not depend on its input.
func constant(d model.Dense, b []float64) {
	clear(d.W.Values())
	put(d.B.Values(), b)
}

// deviations makes a head of standard deviations, with a floor beside it, constant.
func deviations(d model.Dense, sd []float64, floor float64) { constant(d, softplusInverses(sd, floor)) }

// softplusInverses are ln(eʸ − 1) of y − floor; what does not exceed the floor becomes a small number above it.
// ln(eʸ − 1) is y + ln(1 − e⁻ʸ), which does not overflow, and ln y + y/2 for a small y, where the difference would
// cancel.
func softplusInverses(y []float64, floor float64) []float64 {
	const smallest = 1e-6
	x := make([]float64, len(y))
	for i, v := range y {
		v = max(v-floor, smallest)
		if x[i] = v + matrix.Log(1-matrix.Exp(-v)); v < 1e-3 {
			x[i] = matrix.Log(v) + float64(v/2)
		}
	}
	return x
}

// put rounds src to float32 in place of the first values of dst.
func put(dst []float32, src []float64) {
	for i, v := range src {
		dst[i] = float32(v)
	}
}
