package files

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// Generate simulates the first episodes of an environment under a key, as one data set. image has
// height, width and channels where observations are images, else zeros.
func Generate(env envs.Env, key rng.Key, episodes, steps int) (*Dataset, error) {
	d := &Dataset{Spec: env.Spec()}
	if e, ok := env.(envs.Pictured); ok {
		d.Image = e.Image()
	}
	for i := range episodes {
		e := Episode{Part: Unassigned, Source: fmt.Sprintf("episode %d", i)}
		env.Simulate(&e.Episode, key, uint32(i), steps)
		d.Episodes = append(d.Episodes, e)
	}
	d.Spec.Name = "files"
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("simulate %s: %w", env.Spec().Name, err)
	}
	return d, nil
}
