package files

import (
	"errors"
	"strings"

	"github.com/switchyard-ml/switchyard/envs"
)

// Kind is own data as a value of env.kind.
func Kind() envs.Kind {
	return envs.Kind{Name: "files", Doc: "own data", Unit: true, Settings: func() envs.Settings {
		return &Settings{Normalise: "auto", Split: "auto", Dates: "auto", Validation: 0.1, Test: 0.1}
	}}
}

// Settings are the keys of own data. The files decide Hash and the dimensions.
type Settings struct {
	Observations int `yaml:"observations" want:"[0,65536]" doc:"observed dimensions; nascar: 0 shows the state itself; files set their own"`
	Controls     int `yaml:"controls" want:"[0,65536]" doc:"control dimensions; files set their own"`

	Files         string  `yaml:"files" bits:"same" doc:"your own data: files, folders or globs, separated by commas"`
	Observe       string  `yaml:"observe" bits:"same" doc:"observed columns (or array), separated by commas; empty: y, y1, y_name …"`
	Control       string  `yaml:"control" bits:"same" doc:"control columns (or array), separated by commas; empty: u, u1, u_name …"`
	Label         string  `yaml:"label" bits:"same" doc:"label columns (or array) of 0 and 1, separated by commas; empty: label, label1 …"`
	Time          string  `yaml:"time" bits:"same" doc:"column of times (numbers or dates), or columns separated by commas: days and times of day, or the parts of a date (year,month,day,hour or year,quarter), or none (rows are evenly spaced); empty: t"`
	ID            string  `yaml:"id" bits:"same" doc:"column that identifies recordings, or several, separated by commas; empty: episode"`
	Dates         string  `yaml:"dates" values:"auto day-first month-first" bits:"same" doc:"order of dates such as 01/02/2021; auto: decided by an unambiguous date of the column, such as 13/01/2021"`
	Rename        string  `yaml:"rename" bits:"same" doc:"new names of arrays and columns: OLD=NEW, separated by commas"`
	ControlsAfter bool    `yaml:"controls_after" bits:"same" doc:"u[t] acts between steps t and t+1, not between t−1 and t"`
	Resample      string  `yaml:"resample" bits:"same" doc:"step of the even time grid to resample rows to: a number, or for dates e.g. 15min, 1d, 1mo; empty: rows are already on a grid"`
	Transform     string  `yaml:"transform" bits:"same" doc:"transform before scaling: log, diff, log-diff, diff12 …, for all observations or as NAME=TRANSFORM, separated by commas; undone in forecasts, but base systems describe the transformed values"`
	Cut           int     `yaml:"cut" want:"[0,1000000000]" bits:"same" doc:"cut recordings into episodes of this many steps; 0: keep them whole"`
	DT            float64 `yaml:"interval" want:"[0,1000000]" bits:"same" doc:"time between two steps, if the files do not say; 0: unknown"`
	Split         string  `yaml:"split" values:"auto episode time" bits:"same" doc:"held-out data, if the files do not say: whole episodes, drawn by the seed, or by time (the last steps of each recording); auto: by time if there are too few episodes"`

	Normalise  string  `yaml:"normalise" doc:"scaling of your data: auto (each channel to zero mean and unit deviation over the training episodes), recording (the same for each recording separately, over its training steps), none, or a JSON file with means and deviations"`
	Validation float64 `yaml:"validation" want:"[0,1)" doc:"share of the episodes used for validation, if the files give no split" source:"authors' code: 0.1"`
	Test       float64 `yaml:"test" want:"[0,1)" doc:"share of the episodes held out for testing, if the files give no split" source:"authors' code: 0.1"`
	Hash       string  `yaml:"hash" doc:"content hash of the scaled data set, filled in when a run begins"`
}

// Options returns how the files are read, or an *Error for a pair of Rename that is not OLD=NEW. It looks at no
// file.
func (s *Settings) Options() (Options, error) {
	o := Options{
		Observe: words(s.Observe), Control: words(s.Control), Label: words(s.Label), Time: s.Time, ID: s.ID,
		ControlsAfter: s.ControlsAfter, Dates: strings.TrimPrefix(s.Dates, "auto"), Resample: s.Resample,
		Transform: s.Transform, Cut: s.Cut, DT: s.DT,
	}
	for _, pair := range words(s.Rename) {
		from, to, ok := strings.Cut(pair, "=")
		if !ok || from == "" || to == "" {
			return o, faultf("env.rename", "write OLD=NEW", "%q gives no name", pair)
		}
		if o.Rename == nil {
			o.Rename = map[string]string{}
		}
		o.Rename[from] = to
	}
	return o, nil
}

// Complete takes over what a guess has found where the settings say nothing, and returns the keys that it has set,
// as key=value. What the settings say is never replaced.
func (s *Settings) Complete(guess Options) []string {
	var set []string
	for _, k := range []struct {
		key   string
		to    *string
		value string
	}{
		{"observe", &s.Observe, strings.Join(guess.Observe, ",")},
		{"control", &s.Control, strings.Join(guess.Control, ",")},
		{"time", &s.Time, guess.Time},
		{"id", &s.ID, guess.ID},
		{"resample", &s.Resample, guess.Resample},
	} {
		if *k.to == "" && k.value != "" {
			*k.to = k.value
			set = append(set, "env."+k.key+"="+k.value)
		}
	}
	return set
}

// words are the parts of a list separated by commas; nil if it is empty.
func words(list string) []string {
	var all []string
	for _, w := range strings.Split(list, ",") {
		if w = strings.TrimSpace(w); w != "" {
			all = append(all, w)
		}
	}
	return all
}

// Divided returns the data set with the parts that splitting by time gives, or as it is, if it is split by episode
// or the files give the split. Where each recording has its own scale, each is divided by time unless the settings
// say otherwise. The result shares memory with d. It is an *Error if no recording is long enough to be divided.
func (s *Settings) Divided(d *Dataset) (*Dataset, error) {
	shares := Fractions{Validation: s.Validation, Test: s.Test}
	_, err := d.Split(0, shares)
	// A split by time gives every recording training steps, by which its own scale can be measured; one by episode
	// need not.
	whole := s.Split == "episode" || s.Split == "auto" && err == nil && s.Normalise != EachRecording
	if whole || d.Episodes[0].Part != Unassigned {
		return d, nil
	}
	return d.SplitByTime(shares)
}

// ErrRecorded is returned for the attempt to simulate own data.
var ErrRecorded = errors.New("files: own data are recorded, there is nothing to simulate")

// New returns ErrRecorded: own data are read by Read.
func (s *Settings) New() (envs.Env, error) { return nil, ErrRecorded }

// Check returns the conditions between keys that do not hold. Before the files are read, that is while Hash is
// empty, dimensions have to be left open.
func (s *Settings) Check() []envs.Fault {
	var faults []envs.Fault
	if s.Hash == "" {
		if s.Observations != 0 {
			faults = append(faults, envs.Faultf([]string{"env.observations", "env.kind"}, "leave it 0",
				"env.kind=files has its own observations"))
		}
		if s.Controls != 0 {
			faults = append(faults, envs.Faultf([]string{"env.controls", "env.kind"}, "leave it 0",
				"env.kind=files has its own controls"))
		}
	}
	if s.Cut == 1 {
		faults = append(faults, envs.Faultf([]string{"env.cut"}, "", "an episode has at least 2 steps"))
	}
	if s.Validation+s.Test >= 1 {
		faults = append(faults, envs.Faultf([]string{"env.validation", "env.test"}, "",
			"%g and env.test=%g leave nothing for training", s.Validation, s.Test))
	}
	return faults
}
