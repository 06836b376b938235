package files

import (
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// Generate simulates the first episodes of an environment under a key, as one data set. image has height, width and
// channels where observations are images, else zeros. The regimes of envs.Switching are the modes of the data set,
// and no label of it. It is an error if steps is less than two, or if the episodes are no data as files may have
// them.
func Generate(env envs.Env, key rng.Key, episodes, steps int) (*Dataset, error) {
	d := &Dataset{Spec: env.Spec()}
	if e, ok := env.(envs.Pictured); ok {
		d.Image = e.Image()
	}
	regimes, switching := env.(envs.Switching)
	if switching {
		d.Spec.Labels = slices.Delete(slices.Clone(d.Spec.Labels), regimes.Regime(), regimes.Regime()+1)
	}
	for i := range episodes {
		e := Episode{Part: Unassigned, Source: fmt.Sprintf("episode %d", i)}
		env.Simulate(&e.Episode, key, uint32(i), steps)
		if switching {
			e.takeModes(regimes.Regime(), len(env.Spec().Labels))
		}
		d.Episodes = append(d.Episodes, e)
	}
	d.Spec.Name = "files"
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("simulate %s: %w", env.Spec().Name, err)
	}
	return d, nil
}

// takeModes moves a column of the labels of the given width to the modes.
func (e *Episode) takeModes(column, width int) {
	labels := e.Labels
	e.Labels = make([]float32, 0, e.T*(width-1))
	for t := range e.T {
		row := labels[t*width : (t+1)*width]
		e.Modes = append(e.Modes, int32(row[column]))
		e.Labels = append(append(e.Labels, row[:column]...), row[column+1:]...)
	}
}
