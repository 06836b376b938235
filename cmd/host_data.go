package cmd

import (
	"path/filepath"

	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/control"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// dataFolder, below the folder of the runs, holds the data sets of the runs that coordinators host. No run has such a name.
const dataFolder = ".data"

func newStore(runsDir string) *control.Store {
	return control.NewStore(filepath.Join(runsDir, dataFolder), wire.MaxData)
}

// data is the data set of a run, from the store; nil where data are simulated.
func (h *host) data(c config.Config, scale []byte) (*job.Data, error) {
	return job.StoredData(h.store, c, scale)
}
