package eval

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// trajectoriesProtocol shows predictions and needs no number of episodes: it takes the first few.
func trajectoriesProtocol() Protocol {
	return Protocol{
		Name: "trajectories", Doc: "predictions of a few episodes, with the truth", Prefixed: true, fits: vectors,
		metrics: func(s Subject) ([]Metric, error) { return TrajectoryMetrics(s.task(1)), nil },
		run: func(s Subject) (Findings, error) {
			r, err := Trajectories(s.Forecaster, s.Env, s.task(1))
			if err != nil {
				return Findings{}, err
			}
			return findings(r, r), nil
		},
	}
}

// pixelsProtocol is for environments of images; what it reports depends on whether the family smooths.
func pixelsProtocol() Protocol {
	return Protocol{
		Name: "pixels", Doc: "share of wrong pixels in predicted images, with strips of images and the paper's figures",
		Usual: []string{"ball"}, Prefixed: true, Episodes: testEpisodes,
		fits: func(_ string, env envs.Env) bool {
			_, images := env.(envs.Pictured)
			return images
		},
		metrics: func(s Subject) ([]Metric, error) {
			return s.asked(func(f model.Forecaster) ([]Metric, error) {
				return PixelMetrics(f, s.task(testEpisodes)), nil
			})
		},
		run: func(s Subject) (Findings, error) {
			r, err := Pixels(s.Forecaster, s.Env, s.task(testEpisodes))
			if err != nil {
				return Findings{}, err
			}
			return findings(r, r), nil
		},
	}
}

// dtProtocol is for environments of vectors whose steps have a duration.
func dtProtocol() Protocol {
	return Protocol{
		Name:     "dt",
		Doc:      "absolute error over ten steps at the step duration of the run: one point of the curve over durations",
		Prefixed: true, Episodes: testEpisodes,
		fits:    func(kind string, env envs.Env) bool { return vectors(kind, env) && env.Spec().DT > 0 },
		metrics: func(s Subject) ([]Metric, error) { return DTMetrics(s.Env, s.task(testEpisodes)), nil },
		run: func(s Subject) (Findings, error) {
			r, err := DT(s.Forecaster, s.Env, s.task(testEpisodes))
			if err != nil {
				return Findings{}, err
			}
			return findings(r, nil), nil
		},
	}
}
