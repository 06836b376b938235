package files

import (
	"errors"

	"github.com/switchyard-ml/switchyard/envs"
)

// Kind is own data as a value of env.kind.
func Kind() envs.Kind {
	return envs.Kind{Name: "files", Doc: "own data", Unit: true, Settings: func() envs.Settings {
		return &Settings{Normalise: "auto", Validation: 0.1, Test: 0.1}
	}}
}

// Settings are the keys of own data. The files decide Hash and the dimensions.
type Settings struct {
	Observations int `yaml:"observations" want:"[0,65536]" doc:"observed dimensions; files decide theirs"`
	Controls     int `yaml:"controls" want:"[0,65536]" doc:"control dimensions; files decide theirs"`

	Files      string  `yaml:"files" bits:"same" doc:"own data: files, folders or globs, separated by commas"`
	Normalise  string  `yaml:"normalise" doc:"scaling of own data: auto (each channel to zero mean and unit deviation over the training episodes), none, or a JSON file with means and deviations"`
	Validation float64 `yaml:"validation" want:"[0,1)" doc:"share of own episodes for validation, where the files give no split" source:"authors' code: 0.1"`
	Test       float64 `yaml:"test" want:"[0,1)" doc:"share of own episodes that are held out, where the files give no split" source:"authors' code: 0.1"`
	Hash       string  `yaml:"hash" doc:"content hash of the scaled data set, filled in when a run begins"`
}

// ErrRecorded is returned for the attempt to simulate own data.
var ErrRecorded = errors.New("files: own data are recorded, there is nothing to simulate")

// New returns ErrRecorded: own data are read by Read.
func (s *Settings) New() (envs.Env, error) { return nil, ErrRecorded }

// Check returns the conditions between keys that do not hold.
func (s *Settings) Check() []envs.Fault {
	var faults []envs.Fault
	if s.Hash == "" {
		if s.Observations != 0 {
			faults = append(faults, envs.Faultf([]string{"env.observations", "env.kind"}, "leave it 0", "env.kind=files has its own observations"))
		}
		if s.Controls != 0 {
			faults = append(faults, envs.Faultf([]string{"env.controls", "env.kind"}, "leave it 0", "env.kind=files has its own controls"))
		}
	}
	if s.Validation+s.Test >= 1 {
		faults = append(faults, envs.Faultf([]string{"env.validation", "env.test"}, "", "%g and env.test=%g leave nothing for training", s.Validation, s.Test))
	}
	return faults
}
