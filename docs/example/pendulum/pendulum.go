// Package pendulum simulates a driven pendulum that bounces off a stop. Its observations are angle and angular
// velocity.
package pendulum

import (
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// Settings are the keys of the section env.
type Settings struct {
	Stop   float64 `yaml:"stop" want:"(0,3]" doc:"angle of the stop, in rad from the lowest point"`
	Bounce float64 `yaml:"bounce" want:"[0,1]" doc:"part of the speed that is left after an impact"`
	Torque float64 `yaml:"torque" want:"[0,100]" doc:"largest torque per moment of inertia, in rad/s²"`
}

// Kind is the line of the registry.
func Kind() envs.Kind {
	return envs.Kind{
		Name: "pendulum", Doc: "a driven pendulum that bounces off a stop",
		Settings: func() envs.Settings { return &Settings{Stop: 0.5, Bounce: 0.6, Torque: 10} },
	}
}

// New builds the environment.
func (s *Settings) New() (envs.Env, error) { return s, nil }

const dt, parts = 0.05, 10 // a time step in s, and the parts that it is integrated in

// Spec describes the episodes.
func (s *Settings) Spec() envs.Spec {
	return envs.Spec{Name: "pendulum", Observation: 2, Control: 1, DT: dt}
}

// Simulate integrates θ̈ = −9.81·sin θ − 0.2·θ̇ + u under torques u that are drawn anew for each time step. Conversions
// to float64 keep the compiler from fusing a product with a sum: the bits are the same on every processor.
func (s *Settings) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(s.Spec(), T)
	draws := key.At(0, 0, index)
	angle, speed := draws.Uniform(-2, s.Stop), 0.0
	for t := range T {
		u := 0.0 // the first control would act before the episode
		if t > 0 {
			u = draws.Uniform(-s.Torque, s.Torque)
			for range parts {
				sin, _ := kernel.SinCos(angle)
				speed += float64(dt / parts * (u - float64(9.81*sin) - float64(0.2*speed)))
				angle += float64(dt / parts * speed)
				if angle > s.Stop {
					angle, speed = s.Stop, -s.Bounce*speed
				}
			}
		}
		dst.Observations[2*t], dst.Observations[2*t+1], dst.Controls[t] = float32(angle), float32(speed), float32(u)
	}
}
