package gibbs

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/rng"
)

// Tensor is a named array, row-major.
type Tensor struct {
	Name   string
	Shape  []int
	Values []float64
}

// State returns copies of all that the next sweep depends on beside configuration, data, key and index: the number
// of sweeps, the parameters and the states. A chain that is restored from it goes on with the same bits. ω is not
// among them: a sweep draws it before it is read.
func (c *Chain) State() []Tensor {
	var tensors []Tensor
	for _, t := range c.parts() {
		t.Values = slices.Clone(t.Values)
		tensors = append(tensors, t)
	}
	z := make([]float64, len(c.z))
	for t, k := range c.z {
		z[t] = float64(k)
	}
	return append(tensors,
		Tensor{"regimes", []int{len(z)}, z},
		Tensor{"sweep", nil, []float64{float64(c.sweep)}},
		Tensor{"scalars", []int{3}, c.Scalars()},
	)
}

// parts are the tensors that are float64 in the chain itself. They are views.
func (c *Chain) parts() []Tensor {
	return append(c.theta.parts(c.dims), Tensor{"states", []int{len(c.z), c.D}, c.x})
}

// Bytes is the memory of the arrays whose length is that of the data. All others are small.
func (c *Chain) Bytes() int {
	f := c.states
	n := cap(c.spans)*2 + cap(c.z)
	for _, v := range [][]float64{c.y, c.u, c.x, c.omega, f.factor, f.gain, f.shift, f.noise} {
		n += cap(v)
	}
	return 8 * n
}

// Restore returns the chain of which State returned the tensors, given the arguments that it was made from. It
// returns ErrState if the tensors are not those of such a chain. It refuses regimes that the tree does not have,
// numbers that are not finite, and 2³² sweeps or more, as 32 bits of the sweep address random numbers.
func Restore(cfg Config, data Data, key rng.Key, index uint32, state []Tensor) (*Chain, error) {
	c, err := newChain(cfg, data, key, index)
	if err != nil {
		return nil, err
	}
	z, sweep, scalars := make([]float64, len(c.z)), make([]float64, 1), make([]float64, 3)
	err = restore(append(c.parts(),
		Tensor{"regimes", []int{len(z)}, z}, Tensor{"sweep", nil, sweep}, Tensor{"scalars", []int{3}, scalars}), state)
	if err != nil {
		return nil, err
	}
	for t, v := range z {
		if v != math.Trunc(v) || v < 0 || v >= float64(c.K) {
			return nil, fmt.Errorf("%w: step %d has regime %v, want one of 0 to %d", ErrState, t, v, c.K-1)
		}
		c.z[t] = int(v)
	}
	if v := sweep[0]; v != math.Trunc(v) || v < 0 || v >= 1<<32 {
		return nil, fmt.Errorf("%w: %v sweeps", ErrState, v)
	}
	c.sweep = uint64(sweep[0])
	c.transition, c.emission, c.switching = scalars[0], scalars[1], scalars[2]
	return c, nil
}

// restore copies the values of src into the tensors of dst with the same names. It returns ErrState if one is
// missing, has another shape or holds a number that is not finite; others in src are ignored.
func restore(dst, src []Tensor) error {
	for _, d := range dst {
		i := slices.IndexFunc(src, func(t Tensor) bool { return t.Name == d.Name })
		if i < 0 {
			return fmt.Errorf("%w: there is no tensor %q", ErrState, d.Name)
		}
		if len(src[i].Values) != len(d.Values) || !slices.Equal(src[i].Shape, d.Shape) {
			return fmt.Errorf("%w: tensor %q has shape %v and %d values, want %v", ErrState, d.Name, src[i].Shape,
				len(src[i].Values), d.Shape)
		}
		for _, v := range src[i].Values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: tensor %q holds %v", ErrState, d.Name, v)
			}
		}
		copy(d.Values, src[i].Values)
	}
	return nil
}
