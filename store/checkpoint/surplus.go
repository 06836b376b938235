package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
)

// Surplus lists the files of a folder's checkpoints that are neither the newest valid one, from which a run is resumed,
// nor the best one: manifests first, as they have to be removed. A folder without a valid checkpoint has no surplus.
// Nothing is deleted. Should best.json, or the note of a rollback, not be readable, there is none either: what counts
// could be among the files. The run must not be under way.
func Surplus(dir string) ([]string, error) {
	if _, _, err := RolledBack(dir); err != nil {
		return nil, nil // what is void is not known
	}
	newest, _, err := Restore(dir)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	kept := map[uint64]bool{newest.Step: true}
	switch best, err := RestoreBest(dir); {
	case err == nil:
		kept[best.Step] = true
	case !errors.Is(err, ErrNotFound):
		return nil, nil // what best.json names cannot be read: nothing is certain here
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries { // ReadDir sorts: .json before .safetensors
		if step, ok := stepOf(e.Name()); ok && e.Type().IsRegular() && step < newest.Step && !kept[step] {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}
