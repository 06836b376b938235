package main

import (
	"strings"

	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/names"
	"github.com/switchyard-ml/switchyard/internal/runs"
)

// makeRun makes the folder of a run of the plan below dir. An empty name takes the first free one of the configuration's
// stem. command is what the run was asked for with; host says that a coordinator of many runs leads it.
func (p *plan) makeRun(dir, name string, overrides, command []string, host bool) (*runs.Run, error) {
	c := p.config
	return runs.Create(dir, name, stem(c), c.YAML(), overrides, runs.Info{
		Steps: c.Train.Steps, Preset: c.Preset, Seed: c.Seed, ConfigSHA256: c.Digest(), Parameters: len(p.theta),
		Versions: versions(), GitRevision: gitRevision(), Command: command, Host: host,
	})
}

// stem is what the name of a run begins with if it was given none.
func stem(c config.Config) string {
	name := strings.ReplaceAll(c.Preset, "/", "-") + "-" + c.Model.Switching
	if names.CheckRun(name+"-1") != nil {
		return "run"
	}
	return name
}
