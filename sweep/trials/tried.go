package trials

import (
	"slices"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/rng"
	"github.com/switchyard-ml/switchyard/sweep"
)

// Which configurations a sweep tries is not known before it ends. What is said of it before looks at some that it may
// try: sampled for quantities, which have the weights of the sweep, and covering for what some configuration has.

// candidate is a configuration that a sweep may try.
type candidate struct {
	settings sweep.Settings
	config   config.Config
}

const (
	metricSamples = 32   // for what configurations have
	mostListed    = 1000 // the same, of a list
	planTried     = 200  // for what a sweep computes
	mostCovered   = 100  // values
	coverDraws    = 20   // for a valid configuration with a value
)

// sampled are at most so many configurations, drawn as without any result: the first trials of a small sweep, all of
// them if there is room. Of a longer grid or list they lie evenly among the trials, since neighbours are alike. There
// are none if no draw is valid.
func (f *File) sampled(b *Base, most int) []candidate {
	s := &f.Spec
	var list []sweep.Settings
	switch {
	case s.Trials > most && s.Method == sweep.Grid:
		list = spread(s.Combinations(min(s.Trials, maxChecked)), most)
	case s.Method == sweep.List:
		list = spread(s.List[:min(s.Trials, len(s.List))], most)
	default:
		left := maxChecked
		list = s.Sample(min(most, s.Trials), func(c sweep.Settings) error {
			if left--; left < 0 {
				return nil // it is checked below: a space without valid configurations is not searched through
			}
			_, err := b.Of(c)
			return err
		})
	}
	var valid []candidate
	for _, c := range list {
		if made, err := b.Of(c); err == nil {
			valid = append(valid, candidate{c, made})
		}
	}
	return valid
}

// spread are at most so many elements of a list, in equal distances.
func spread[E any](list []E, most int) []E {
	if len(list) <= most {
		return list
	}
	chosen := make([]E, most)
	for i := range chosen {
		chosen[i] = list[i*len(list)/most]
	}
	return chosen
}

// covering are configurations that together have each value of each choice, as far as valid ones are found: a sample
// misses what is rare. A list is tried as it is, and needs none.
func (f *File) covering(b *Base) []candidate {
	if f.Spec.Method == sweep.List {
		return nil
	}
	var list []candidate
	for i := range f.Spec.Parameters {
		for j, v := range f.Spec.Parameters[i].Values {
			if len(list) == mostCovered {
				return list
			}
			for n := range uint64(coverDraws) {
				// The draws of possible for the parameter, further on.
				stream := rng.New(f.Spec.Seed, rng.Search).At(chances+uint64(j)*coverDraws+n, uint32(i), 3)
				c := f.around(i, v, func(p *sweep.Parameter) (string, bool) { return p.At(stream.Float64()), true })
				if made, err := b.Of(c); err == nil {
					list = append(list, candidate{slices.Clone(c), made})
					break
				}
			}
		}
	}
	return list
}
