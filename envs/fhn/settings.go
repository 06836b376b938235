package fhn

import "github.com/switchyard-ml/switchyard/envs"

// Kind is the oscillator as a value of env.kind.
func Kind() envs.Kind {
	return envs.Kind{
		Name: "fhn", Doc: "FitzHugh-Nagumo oscillator",
		Settings: func() envs.Settings { return new(Settings) },
	}
}

// Settings are none: the environment is the one of the paper.
type Settings struct{}

// New builds the environment.
func (*Settings) New() (envs.Env, error) { return New(DefaultConfig()) }
