package job

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/wire"
)

// StoredData is the result of LoadData for a data set that a host keeps beside its runs; nil if data are simulated.
// scale is the scaling of its Data, as JSON. It returns an error that matches files.ErrData if the data set is not
// there, or if the configuration does not fit it, and store.ErrDamaged if it cannot be read.
func StoredData(runsDir string, c config.Config, scale []byte) (*Data, error) {
	if own(c) == nil {
		return nil, nil
	}
	encoded, err := store.DataSet(store.DataFolder(runsDir), own(c).Hash, wire.MaxData)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, config.Hint(&files.Error{Problem: "the coordinator does not have the data set " + own(c).Hash},
			"submit the run again on the machine that has the files: submit uploads them")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	d := &Data{Encoded: encoded, Files: own(c).Files, hash: own(c).Hash}
	if d.set, err = files.Decode(encoded); err != nil {
		return nil, fmt.Errorf("decode the data set: %w", err)
	}
	if d.scale, err = d.set.ParseNormalisation(store.NormalisationFile, scale); err != nil {
		return nil, err
	}
	if d.divided, err = parseDivided(scale); err != nil {
		return nil, err
	}
	if d.divided != nil && *d.divided {
		join(d.set)
	}
	split, err := divide(c, d.set)
	if err != nil {
		return nil, err
	}
	d.Values = d.set.Observed(split.Training...)
	// The one who submitted the run has filled in what the data decide: it must be what is found here.
	decided := c.Clone()
	if d.Short, err = describe(&decided, d.set, split); err != nil {
		return nil, err
	}
	if !decided.Equal(c) {
		return nil, fmt.Errorf("%w: the configuration does not fit the data set: %v", files.ErrData, Differences(c, decided))
	}
	return d, nil
}
