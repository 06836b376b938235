package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/control"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// dataFolder, below the folder of the runs, holds the data sets of the runs that coordinators host. No run has such a name.
const dataFolder = ".data"

func newStore(runsDir string) *control.Store {
	return control.NewStore(filepath.Join(runsDir, dataFolder), wire.MaxData)
}

// data is the data set of a run, from the store; nil where data are simulated.
func (h *host) data(c config.Config, scale []byte) (*ownData, error) {
	return storedData(h.store, c, scale)
}

// storedData is what loadOwnData has made of the files of a configuration, from the store.
func storedData(store *control.Store, c config.Config, scale []byte) (*ownData, error) {
	if c.Env.Kind != "files" {
		return nil, nil
	}
	encoded, err := store.Load(c.Env.Hash)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, advice.Hint(fmt.Errorf("%w: the coordinator does not have the data set %s", files.ErrData, c.Env.Hash),
			"submit the run once more from where the files are: submit brings them")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", runs.ErrDamaged, err)
	}
	d := &ownData{encoded: encoded}
	if d.set, err = files.Decode(encoded); err != nil {
		return nil, fmt.Errorf("decode the data set: %w", err)
	}
	if d.scale, err = d.set.ParseNormalisation(normalisationFile, scale); err != nil {
		return nil, err
	}
	split, err := ownSplit(c, d.set)
	if err != nil {
		return nil, err
	}
	said := c
	if d.short, err = describe(&said, d.set, split); err != nil {
		return nil, err
	}
	if said != c {
		return nil, fmt.Errorf("%w: the configuration does not fit the data set: %v", files.ErrData, differences(c, said))
	}
	return d, nil
}
