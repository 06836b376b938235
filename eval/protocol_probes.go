package eval

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// mapEpisodes is how many episodes fill the bins of a map.
const mapEpisodes = 4000

// probed fits environments that name what is looked for.
func probed(looked func(p envs.Probes) bool) func(string, envs.Env) bool {
	return func(_ string, env envs.Env) bool {
		p, ok := env.(envs.Probed)
		return ok && looked(p.Probes())
	}
}

// velocityProtocol draws a scatter where the model has a latent state.
func velocityProtocol() Protocol {
	return Protocol{
		Name: "velocity", Doc: "R² of velocities read out of the latent state by a linear map", Episodes: testEpisodes,
		fits: probed(func(p envs.Probes) bool { return len(p.Rates) > 0 }),
		metrics: func(s Subject) ([]Metric, error) {
			return s.asked(func(f model.Forecaster) ([]Metric, error) {
				return VelocityMetrics(f, s.Env, s.task(testEpisodes)), nil
			})
		},
		run: func(s Subject) (Findings, error) {
			r, err := Velocity(s.Forecaster, s.Env, s.task(testEpisodes))
			if err != nil {
				return Findings{}, err
			}
			found := findings(r, nil)
			if r.ScatterName != "" {
				found.Picture = r
			}
			return found, nil
		},
	}
}

// contactProtocol draws nothing: F1 is a table.
func contactProtocol() Protocol {
	return Protocol{
		Name: "contact", Doc: "F1 of contacts told from the switch by a tree and by logistic regression",
		Episodes: testEpisodes,
		fits:     probed(func(p envs.Probes) bool { return len(p.Contacts) > 0 }),
		metrics: func(s Subject) ([]Metric, error) {
			return s.asked(func(f model.Forecaster) ([]Metric, error) {
				return ContactMetrics(f, s.Env, s.task(testEpisodes)), nil
			})
		},
		run: func(s Subject) (Findings, error) {
			r, err := Contact(s.Forecaster, s.Env, s.task(testEpisodes))
			if err != nil {
				return Findings{}, err
			}
			return findings(r, nil), nil
		},
	}
}

// switchesProtocol fits every simulated environment; it draws maps where bodies move in the plane. It has more
// episodes than the others, as its maps have MapBins² bins.
func switchesProtocol() Protocol {
	return Protocol{
		Name: "switches", Doc: "how many base systems are in use, their information about contacts and walls, and maps " +
			"of where each acts",
		Episodes: mapEpisodes, fits: func(_ string, env envs.Env) bool { return env != nil },
		metrics: func(s Subject) ([]Metric, error) {
			return s.asked(func(f model.Forecaster) ([]Metric, error) {
				return SwitchMetrics(f, s.Env, s.task(mapEpisodes)), nil
			})
		},
		run: func(s Subject) (Findings, error) {
			r, err := Switches(s.Forecaster, s.Env, s.task(mapEpisodes))
			if err != nil {
				return Findings{}, err
			}
			found := findings(r, nil)
			if len(r.Maps) > 0 {
				found.Picture = r
			}
			return found, nil
		},
	}
}

// latentProtocol draws planes and activation curves where the model has a latent state.
func latentProtocol() Protocol {
	return Protocol{
		Name: "latent", Doc: "where velocities lie in the latent state, and how the switch follows the coordinates",
		Episodes: testEpisodes,
		fits:     probed(func(p envs.Probes) bool { return len(p.Rates) > 0 }),
		metrics: func(s Subject) ([]Metric, error) {
			return s.asked(func(f model.Forecaster) ([]Metric, error) {
				return LatentMetrics(f, s.Env, s.task(testEpisodes)), nil
			})
		},
		run: func(s Subject) (Findings, error) {
			r, err := Latent(s.Forecaster, s.Env, s.task(testEpisodes))
			if err != nil {
				return Findings{}, err
			}
			found := findings(r, nil)
			if len(r.Planes) > 0 {
				found.Picture = r
			}
			return found, nil
		},
	}
}
