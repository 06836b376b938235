package maze

import "github.com/switchyard-ml/switchyard/envs"

// Kind is the maze as a value of env.kind.
func Kind() envs.Kind {
	return envs.Kind{
		Name: "maze", Doc: "agents among walls",
		Settings: func() envs.Settings { return &Settings{Variant: "a"} },
	}
}

// Settings are the keys of the maze.
type Settings struct {
	DT      float64 `yaml:"dt" want:"[0,10]" doc:"seconds per step; 0: the environment's own (maze: 0.05, ball: 0.2)"`
	Variant string  `yaml:"variant" values:"a b" doc:"layout and constants: a (long walls, damped) or b (four stubs, elastic)"`
	Balls   int     `yaml:"balls" want:"[0,32]" doc:"number of agents; 0: three" source:"paper, maze: 3"`
}

// New builds the maze.
func (s *Settings) New() (envs.Env, error) {
	c := A()
	if s.Variant == "b" {
		c = B()
	}
	if s.DT != 0 {
		c.DT = s.DT
	}
	if s.Balls != 0 {
		c.Balls = s.Balls
	}
	return New(c)
}
