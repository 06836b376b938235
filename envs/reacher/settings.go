package reacher

import "github.com/switchyard-ml/switchyard/envs"

// Kind is the arm as a value of env.kind.
func Kind() envs.Kind {
	return envs.Kind{Name: "reacher", Doc: "two-link arm", Settings: func() envs.Settings { return new(Settings) }}
}

// Settings are none: the environment is the one of the paper.
type Settings struct{}

// New builds the environment.
func (*Settings) New() (envs.Env, error) { return New(DefaultConfig()) }
