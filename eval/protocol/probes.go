package protocol

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
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

func velocityProtocol() Protocol {
	return Protocol{
		Name: "velocity", Doc: "R² of velocities read out of the latent state by a linear map", Episodes: testEpisodes,
		fits: probed(func(p envs.Probes) bool { return len(p.Rates) > 0 }),
		metrics: func(s Subject) ([]eval.Metric, error) {
			return s.asked(func(f model.Forecaster) ([]eval.Metric, error) {
				return eval.VelocityMetrics(f, s.Env, s.task(testEpisodes)), nil
			})
		},
		run: func(s Subject) (Findings, error) {
			r, err := eval.Velocity(s.Forecaster, s.Env, s.task(testEpisodes))
			if err != nil {
				return Findings{}, err
			}
			found := Findings{Table: r.Table(), Curves: r.CurveTable(), Report: r.Report()}
			if r.ScatterName != "" {
				found.Draw = figure.Velocity(r).Write
			}
			return found, nil
		},
	}
}

func contactProtocol() Protocol {
	return Protocol{
		Name: "contact", Doc: "F1 of contacts told from the switch by a tree and by logistic regression",
		Episodes: testEpisodes,
		fits:     probed(func(p envs.Probes) bool { return len(p.Contacts) > 0 }),
		metrics: func(s Subject) ([]eval.Metric, error) {
			return s.asked(func(f model.Forecaster) ([]eval.Metric, error) {
				return eval.ContactMetrics(f, s.Env, s.task(testEpisodes)), nil
			})
		},
		run: func(s Subject) (Findings, error) {
			r, err := eval.Contact(s.Forecaster, s.Env, s.task(testEpisodes))
			if err != nil {
				return Findings{}, err
			}
			return Findings{Table: r.Table(), Curves: r.CurveTable(), Report: r.Report()}, nil
		},
	}
}

func switchesProtocol() Protocol {
	return Protocol{
		Name: "switches", Doc: "how many base systems are in use, what they know of contacts and walls, and maps of where " +
			"each acts",
		Episodes: mapEpisodes, fits: func(_ string, env envs.Env) bool { return env != nil },
		metrics: func(s Subject) ([]eval.Metric, error) {
			return s.asked(func(f model.Forecaster) ([]eval.Metric, error) {
				return eval.SwitchMetrics(f, s.Env, s.task(mapEpisodes)), nil
			})
		},
		run: func(s Subject) (Findings, error) {
			r, err := eval.Switches(s.Forecaster, s.Env, s.task(mapEpisodes))
			if err != nil {
				return Findings{}, err
			}
			found := Findings{Table: r.Table(), Curves: r.CurveTable(), Report: r.Report()}
			if len(r.Maps) > 0 {
				found.Draw = figure.Switches(r, figure.WallsOf(s.Env)).Write
			}
			return found, nil
		},
	}
}

func latentProtocol() Protocol {
	return Protocol{
		Name: "latent", Doc: "where velocities lie in the latent state, and how the switch follows the coordinates",
		Episodes: testEpisodes,
		fits:     probed(func(p envs.Probes) bool { return len(p.Rates) > 0 }),
		metrics: func(s Subject) ([]eval.Metric, error) {
			return s.asked(func(f model.Forecaster) ([]eval.Metric, error) {
				return eval.LatentMetrics(f, s.Env, s.task(testEpisodes)), nil
			})
		},
		run: func(s Subject) (Findings, error) {
			r, err := eval.Latent(s.Forecaster, s.Env, s.task(testEpisodes))
			if err != nil {
				return Findings{}, err
			}
			found := Findings{Table: r.Table(), Curves: r.CurveTable(), Report: r.Report()}
			if len(r.Planes) > 0 {
				found.Draw = figure.Latent(r).Write
			}
			return found, nil
		},
	}
}
