package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// Damage is a file or folder of a run that cannot be used. File is its path in the folder of the run.
type Damage struct {
	File   string `json:"file"`
	What   string `json:"what"`   // is wrong with it
	Remedy string `json:"remedy"` // what the user can do
}

// How a file of a run is mended, if it cannot be used.
const (
	putBack    = "put it back from a copy; without it the run cannot go on, and can only be removed"
	goWithout  = "remove it; the run continues without it"
	relabel    = "remove it; only tags and note are lost"
	makeFolder = "remove it, and make a folder in its place"
	anotherOne = "remove it; another checkpoint takes its place"
	countAgain = "put it back from a copy; without it nothing says which checkpoints are void"
)

// Damages returns what is damaged of the named run. It waits for no file, and reads none but run.json, labels.json and
// the note of a rollback. An error is returned only for a name without a run. Files that a run may be without are
// damaged only if they are there.
func Damages(dir, name string) ([]Damage, error) {
	folder, err := find(dir, name)
	if err != nil {
		return nil, err
	}
	var found []Damage
	note := func(file string, err error, remedy string) {
		if err != nil {
			found = append(found, Damage{file, err.Error(), remedy})
		}
	}
	_, err = parseInfo(filepath.Join(folder, infoFile))
	note(infoFile, bare(err), putBack)
	note(configFile, readable(filepath.Join(folder, configFile), maxFile), putBack)
	for _, f := range []struct{ name, remedy string }{
		{NormalisationFile, putBack},
		{overridesFile, goWithout},
		{metricsFile, goWithout},
		{MagnitudesFile, goWithout},
		{Log, goWithout},
		{lockFile, goWithout},
	} {
		// a run may be without it
		if err := readable(filepath.Join(folder, f.name), math.MaxInt64); !errors.Is(err, fs.ErrNotExist) {
			note(f.name, err, f.remedy)
		}
	}
	_, err = parseLabels(filepath.Join(folder, LabelsFile))
	note(LabelsFile, bare(err), relabel)
	for _, sub := range subfolders {
		info, err := os.Lstat(filepath.Join(folder, sub))
		if err == nil && !info.IsDir() {
			err = errors.New("not a folder")
		}
		if !errors.Is(err, fs.ErrNotExist) {
			note(sub, err, makeFolder)
		}
	}
	checkpointDamages(folder, note)
	return found, nil
}

// checkpointDamages notes what is damaged in the folder of checkpoints: what is no regular file, and a note of a
// rollback that cannot be read.
func checkpointDamages(folder string, note func(file string, err error, remedy string)) {
	entries, err := os.ReadDir(filepath.Join(folder, Checkpoints))
	if err != nil {
		return // said of the folder, or there are none yet
	}
	for _, e := range entries {
		file := filepath.Join(Checkpoints, e.Name())
		switch {
		case e.Name() == rollbackFile:
			note(file, bare(decodeFile(filepath.Join(folder, file), maxInfo, new(struct{ Step uint64 }))), countAgain)
		case e.Type().IsRegular():
		case e.Name() == termFile:
			note(file, disk.ErrIrregular, goWithout)
		default:
			note(file, disk.ErrIrregular, anotherOne)
		}
	}
}

// readable returns why a file is none that is read: it is missing, no regular file, or larger than limit bytes; nil
// if it can be read.
func readable(path string, limit int64) error {
	f, info, err := disk.Open(path)
	if err != nil {
		return bare(err)
	}
	if info.Size() > limit {
		err = fmt.Errorf("%w: %d bytes", disk.ErrTooLarge, info.Size())
	}
	return errors.Join(err, f.Close())
}

// bare is an error without the path, which the reader knows.
func bare(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, disk.ErrIrregular):
		return disk.ErrIrregular
	case errors.As(err, &path):
		return path.Err
	}
	return err
}
