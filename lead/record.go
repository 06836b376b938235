package lead

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// Record is what a run has written so far. It is only read, because the run may be under way.
type Record struct {
	name, folder string // of the run; the folder is a path
	config       config.Config
	log          *coordinator.Log
	plan         *job.Plan // with the data of the run
}

// ErrNoLog is returned for a run that has logged no step, so that nothing can be compared.
var ErrNoLog = errors.New("the run has no log of its steps")

// Open reads the log of a run and builds its plan. It returns ErrNoLog if the log has no step, and an error that
// matches job.ErrDataChanged if the files of a run on own data are other ones.
func Open(kinds *config.Kinds, runsDir, name string) (*Record, error) {
	c, err := job.ReadConfig(kinds, runsDir, name)
	if err != nil {
		return nil, err
	}
	r := &Record{name: name, folder: filepath.Join(runsDir, name), config: c}
	path := filepath.Join(r.folder, store.Log)
	if r.log, err = coordinator.ReadLog(path, 0); err != nil {
		return nil, err
	}
	if r.log.Last == 0 {
		return nil, config.Hint(fmt.Errorf("%s: %w", path, ErrNoLog), "a run logs every step; it may not have made one yet")
	}
	r.plan, err = job.PrepareAgain(c, r.folder, 1)
	return r, err
}

// before is the newest checkpoint at or before that step; nil if there is none. Checkpoints that are damaged are
// skipped; if all of them are, that is no error either.
func (r *Record) before(step uint64) (*checkpoint.Checkpoint, error) {
	cp, _, err := checkpoint.RestoreUpTo(filepath.Join(r.folder, store.Checkpoints), step)
	if errors.Is(err, checkpoint.ErrNotFound) || errors.Is(err, checkpoint.ErrCorrupt) {
		return nil, nil
	}
	return cp, err
}

// stepOf is the step of a checkpoint, 0 for the initial parameters.
func stepOf(cp *checkpoint.Checkpoint) uint64 {
	if cp == nil {
		return 0
	}
	return cp.Step
}
