package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// Values of which for Open, in addition to the number of a step.
const (
	Last = "last"
	Best = "best"
)

// Open reads and verifies the requested checkpoint of a folder: Last is the result of Restore, Best that of
// RestoreBest, and a number is a step. The second result is that of Restore.
func Open(dir, which string) (*Checkpoint, []error, error) {
	switch which {
	case Last:
		return Restore(dir)
	case Best:
		cp, err := RestoreBest(dir)
		return cp, nil, err
	}
	step, err := strconv.ParseUint(which, 10, 64)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint %q: want %s, %s or the number of a step", which, Last, Best)
	}
	cp, err := openStep(dir, step)
	return cp, nil, err
}

// openStep reads the checkpoint of a step. Of those that a rollback has made void, none is found.
func openStep(dir string, step uint64) (*Checkpoint, error) {
	list, err := List(dir)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list, func(i Info) bool { return i.Step == step }) {
		steps := []uint64{}
		for _, i := range list {
			steps = append(steps, i.Step)
		}
		return nil, fmt.Errorf("%w of step %d in %s, which has those of %v", ErrNotFound, step, dir, steps)
	}
	cp, err := read(filepath.Join(dir, stem(step)+manifestSuffix))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return cp, nil
}

// Info is the description of a checkpoint in its manifest. Its data were not looked at: they may be damaged.
type Info struct {
	Step         uint64
	Bytes        int64 // of its data
	ParamsSHA256 string
	Path         string // of the manifest
	Best         bool   // Best opens this one
}

// List returns the checkpoints of a folder, sorted by step. It reads the manifests only. It leaves out manifests that
// it cannot read, and checkpoints that a rollback has made void. A folder that does not exist has no checkpoints.
func List(dir string) ([]Info, error) {
	names, err := manifests(dir)
	if err != nil {
		return nil, err
	}
	path, err := bestPath(dir)
	if err != nil {
		return nil, err
	}
	best, _ := disk.ReadFile(path, maxManifest) // without it none is the best
	var list []Info
	for _, name := range names {
		path := filepath.Join(dir, name)
		man, err := readManifest(path)
		if err != nil {
			continue
		}
		text, err := disk.ReadFile(path, maxManifest)
		list = append(list, Info{
			Step: man.Step, Bytes: man.Bytes, ParamsSHA256: man.ParamsSHA256, Path: path, Best: err == nil &&
				bytes.Equal(text, best),
		})
	}
	return list, nil
}

// Restore reads the newest valid checkpoint of a folder. The second result has an error, with file and reason, for each
// newer one that was skipped. If there is no valid checkpoint, it returns ErrNotFound or ErrCorrupt.
func Restore(dir string) (*Checkpoint, []error, error) { return RestoreUpTo(dir, math.MaxUint64) }

// RestoreUpTo is Restore for the newest valid checkpoint at or before step last.
func RestoreUpTo(dir string, last uint64) (*Checkpoint, []error, error) {
	names, err := manifests(dir)
	if err != nil {
		return nil, nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		step, ok := stepOf(name)
		return ok && step > last
	})
	if len(names) == 0 {
		// Checkpoints from before the rollback may be there, but they count no more.
		if _, noted, err := RolledBack(dir); err == nil && noted {
			return nil, nil, fmt.Errorf("%w in %s: %w", ErrNotFound, dir, ErrVoid)
		}
		return nil, nil, fmt.Errorf("%w in %s", ErrNotFound, dir)
	}
	var skipped []error
	for _, name := range slices.Backward(names) {
		cp, err := read(filepath.Join(dir, name))
		if err == nil {
			return cp, skipped, nil
		}
		skipped = append(skipped, err)
	}
	return nil, skipped, fmt.Errorf("%w in %s: %w", ErrCorrupt, dir, errors.Join(skipped...))
}

// RestoreBest reads the checkpoint with the lowest validation loss. It returns ErrNotFound if none was validated, and
// ErrCorrupt if the best one cannot be read. It need not be among the last ones, and is none that a rollback has made
// void.
func RestoreBest(dir string) (*Checkpoint, error) {
	path, err := bestPath(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w with a validation in %s", ErrNotFound, dir)
	}
	cp, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return cp, nil
}

// bestPath is the path of the manifest that says which checkpoint is the best; empty if a rollback has left none. Until
// that is finished, best.json may name a void one, and the checkpoint that the run has gone back to says it.
func bestPath(dir string) (string, error) {
	last, noted, err := RolledBack(dir)
	if err != nil || !noted {
		return filepath.Join(dir, bestManifest), err
	}
	best, err := bestAt(dir, last)
	if err != nil || best == nil {
		return "", err
	}
	return best.Path, nil
}

// manifests lists the manifests of a folder, sorted by step, without those that a rollback has made void. They are
// not read.
func manifests(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	last, noted, err := RolledBack(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries { // ReadDir sorts by name, and steps have leading zeros
		if !strings.HasPrefix(e.Name(), "step-") || !strings.HasSuffix(e.Name(), manifestSuffix) {
			continue
		}
		if step, ok := stepOf(e.Name()); ok && noted && step > last {
			continue
		}
		names = append(names, e.Name())
	}
	return names, nil
}

// read reads and verifies the checkpoint of a manifest. All errors have the name of the manifest. The parameters are
// verified twice: with the file, and by a hash of their own, which run.json and the log know, too.
func read(path string) (*Checkpoint, error) {
	man, err := readManifest(path)
	if err != nil {
		return nil, err
	}
	f, err := man.open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	cp := man.checkpoint(path)
	if err := man.fill(cp, f); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	if got := Hash(cp.Theta); got != man.ParamsSHA256 {
		return nil, fmt.Errorf("checkpoint %s: parameters have SHA-256 %s, the manifest says %s", path, got, man.ParamsSHA256)
	}
	return cp, nil
}
