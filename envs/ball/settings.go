package ball

import "github.com/switchyard-ml/switchyard/envs"

// Kind is the ball in its box as a value of env.kind.
func Kind() envs.Kind {
	return envs.Kind{
		Name: "ball", Doc: "images of a ball in a box", Unit: true,
		Settings: func() envs.Settings { return new(Settings) },
	}
}

// Settings are the keys of the ball.
type Settings struct {
	DT    float64 `yaml:"dt" want:"[0,10]" doc:"seconds per step; 0: the environment's own (maze: 0.05, ball: 0.2)"`
	Walls bool    `yaml:"walls" doc:"draw the walls into the images"`
}

// New builds the box.
func (s *Settings) New() (envs.Env, error) {
	c := DefaultConfig()
	c.Walls = s.Walls
	if s.DT != 0 {
		c.DT = s.DT
	}
	return New(c)
}
