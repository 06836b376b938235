package job

import (
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
)

// Reading says how a run reads its files, but for labels and for cutting them into episodes; false where data are
// simulated. The files are not looked at.
func Reading(c config.Config) (files.Options, bool, error) {
	if own(c) == nil {
		return files.Options{}, false, nil
	}
	o, err := own(c).Options()
	o.Cut, o.Label = 0, nil // labels are only compared with
	return o, true, err
}

// Unbegun is Recordings for a run that has not begun. It fills in the keys of the configuration that the files decide.
func Unbegun(c *config.Config) (*eval.Recordings, error) {
	if own(*c) == nil {
		return nil, nil
	}
	d, err := LoadData(c, nil)
	if err != nil {
		return nil, err
	}
	return d.recordings(*c)
}

// recordings are the data, divided into parts.
func (d *Data) recordings(c config.Config) (*eval.Recordings, error) {
	split, err := divide(c, d.set)
	if err != nil {
		return nil, err
	}
	return &eval.Recordings{Set: d.set, Split: split, Scale: d.scale}, nil
}

// Modes reads the true modes of the steps of each of Recordings, from the column (or array) truth of the same files.
// It returns a usage error for a column that the run observes or takes as a control.
func Modes(c config.Config, truth string) ([][]int32, error) {
	c = c.Clone()
	set, _, err := readOwn(own(c), truth)
	if err != nil {
		return nil, err
	}
	if set.Spec.Observation != own(c).Observations || set.Spec.Control != own(c).Controls {
		return nil, config.Usagef("--truth %s: the run was trained on it, so it is no label", truth)
	}
	var modes [][]int32
	for i := range set.Episodes {
		modes = append(modes, set.Episodes[i].Modes)
	}
	return modes, nil
}
