package eval

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/arhmm"
	"github.com/switchyard-ml/switchyard/rng"
)

// markovSteps is about how many steps of the training recordings the autoregressive HMM is fitted to.
const markovSteps = 50_000

// markov is an autoregressive HMM of one lag, fitted to the training recordings by EM from several starts. It
// never sees a label; regimes is their number.
func (d divided) markov(regimes int, dims model.Dims) (model.Forecaster, error) {
	settings := arhmm.DefaultSettings()
	settings.Switches = regimes
	var recordings []model.Batch
	for _, e := range d.training {
		recordings = append(recordings, e.batch(dims))
	}
	f, err := arhmm.Best(settings, model.Data{NX: dims.NX, NU: dims.NU}, rng.New(d.seed, rng.Init), recordings,
		func() bool { return true })
	if err != nil {
		return nil, fmt.Errorf("fit it: %w", err)
	}
	return f, nil
}
