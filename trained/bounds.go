package trained

import (
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/model"
)

// mostHeld is the most memory that the values of an answer may take, in bytes.
const mostHeld = 2 << 30

// fitsMemory returns a usage error, before anything is computed, for an answer that takes more than mostHeld. what says
// what it consists of, and less what to ask for instead.
func fitsMemory(bytes float64, what, less string) error {
	if bytes <= mostHeld {
		return nil
	}
	return config.Usagef("%s take %.3g GiB, more than %d: ask for %s", what, bytes/(1<<30), mostHeld>>30, less)
}

// forecastFits is fitsMemory for the paths of so many forecasts. Each value is counted as float64, with its
// deviation.
func (r *Run) forecastFits(recordings int, q Query) error {
	f, err := r.Forecaster()
	if err != nil {
		return err
	}
	paths := q.Samples
	if paths == 0 {
		paths = r.config.Eval.Samples
	}
	rows := float64(max(paths, 1)) * float64(max(q.Horizon, 1)) * float64(recordings)
	if r.transforms() {
		rows *= draws
	}
	const mean, sd = 8, 8 // bytes
	channels := f.Dims().NX
	return fitsMemory(rows*float64(channels)*(mean+sd), terminal.Count(q.Horizon, "step")+" of "+
		terminal.Count(channels, "channel")+" for "+terminal.Count(recordings, "recording")+" with "+
		terminal.Count(paths, "path"), "fewer steps, paths (--samples) or recordings")
}

// simulationFits is fitsMemory for so many steps of so many series.
func simulationFits(steps, series int, d model.Dims) error {
	const drawn, answered, written = 4, 8, 8 // bytes of a value on its way
	values := float64(2*d.NX + d.NZ + d.M)   // of a step: observations and their means, states and weights
	return fitsMemory(float64(steps)*float64(series)*values*(drawn+answered+written), terminal.Count(steps, "step")+
		" of "+terminal.Count(series, "episode"), "fewer --steps or --episodes")
}
