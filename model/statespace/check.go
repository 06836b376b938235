package statespace

import "github.com/switchyard-ml/switchyard/model"

// Check returns what does not fit together in settings of the parts of this package: model.initial_observations,
// model.emission and model.emission_sd. A family without one of these keys passes the value that it stands for.
func Check(setup model.Setup, initialObservations int, emission Density, sd SD) []model.Fault {
	var faults []model.Fault
	fault := func(keys []string, hint, format string, args ...any) {
		faults = append(faults, model.Faultf(keys, hint, format, args...))
	}
	if initialObservations >= setup.Sequence {
		fault([]string{"model.initial_observations", "env.window", "env.length"}, "",
			"%d leaves nothing to infer in a training sequence of %d steps", initialObservations, setup.Sequence)
	}
	if emission == Bernoulli && !setup.Unit {
		fault([]string{"model.emission", "env.kind"}, "use gaussian",
			"bernoulli needs observations between 0 and 1, those of env.kind=%s are not", setup.Env)
	}
	if emission == Bernoulli && sd == ConstantSD {
		fault([]string{"model.emission_sd", "model.emission"}, "leave it out, or use model.emission=gaussian",
			"a bernoulli emission has no standard deviation")
	}
	if w := setup.FilterWindow; w != 0 && w < initialObservations {
		fault([]string{"eval.filter_window", "model.initial_observations"}, "0 filters the whole past",
			"%d is shorter than the %d observations of the initial state", w, initialObservations)
	}
	return faults
}
