package coordinator

import (
	"math/bits"

	"github.com/switchyard-ml/switchyard/internal/vector"
)

// mostMagnitudes is how often, about, a run counts its values by their magnitudes.
const mostMagnitudes = 64

// octaves counts the values of each tensor. Without a layout they are one.
func (r *run) octaves(values []float32) []vector.Octaves {
	if len(r.cfg.Layout) == 0 {
		return []vector.Octaves{vector.CountOctaves(values)}
	}
	list := make([]vector.Octaves, len(r.cfg.Layout))
	for i, t := range r.cfg.Layout {
		list[i] = vector.CountOctaves(values[t.Offset : t.Offset+t.Size])
	}
	return list
}

// magnitudes are those of the gradient, from its sum over the shards, a power of two of them, before the update; nil in
// all but a few steps of the run.
func (r *run) magnitudes(sum []float32) *vector.Magnitudes {
	every := max(1, (r.cfg.Steps+mostMagnitudes-1)/mostMagnitudes)
	// A step counts when it passes a multiple of every, which local steps may pass without stopping there.
	if (r.opt.step+r.opt.Stride())/every == r.opt.step/every {
		return nil
	}
	m := &vector.Magnitudes{Gradient: r.octaves(sum)}
	// The mean is the sum divided by a power of two, which moves all octaves alike.
	for i := range m.Gradient {
		if len(m.Gradient[i].Counts) > 0 {
			m.Gradient[i].First -= bits.Len(uint(r.cfg.Shards)) - 1
		}
	}
	return m
}
