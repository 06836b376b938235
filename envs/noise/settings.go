package noise

import "github.com/switchyard-ml/switchyard/envs"

// Kind is noise as a value of env.kind.
func Kind() envs.Kind {
	return envs.Kind{Name: "noise", Doc: "independent normals", Settings: func() envs.Settings { return new(Settings) }}
}

// Settings are the keys of noise.
type Settings struct {
	Observations int `yaml:"observations" want:"[0,65536]" doc:"observed dimensions; nascar: 0 shows the state itself; files set their own"`
	Controls     int `yaml:"controls" want:"[0,65536]" doc:"control dimensions; files set their own"`
}

// New builds the environment.
func (s *Settings) New() (envs.Env, error) { return New(s.Observations, s.Controls) }

// Check asks for an observation.
func (s *Settings) Check() []envs.Fault {
	if s.Observations > 0 {
		return nil
	}
	return []envs.Fault{envs.Faultf([]string{"env.observations", "env.kind"}, "e.g. env.observations=6",
		"env.kind=noise needs at least 1")}
}
