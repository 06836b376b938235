package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Draft is what a new run begins with. Config is the text of config.yaml, as it is. Create fills in name, state,
// times and process in Info.
type Draft struct {
	Name          string // empty: the first free name of Stem-1, Stem-2, …
	Stem          string
	Config        []byte
	Overrides     []string  // settings on top of the preset
	Normalisation []byte    // the scaling of recorded data; nil: the run has none
	Info          Info      // with preset, seed, steps and versions
	Disk          disk.Disk // nil: the operating system's files
}

// Create makes the folder of a run in dir, and holds the run. It returns ErrOccupied if the name is taken, or if
// another process is making a run of that name, and ErrName for what cannot be a name. A run without a name gets a
// free one, whoever else is looking for one.
//
// The folder is made aside, under a name that no run has, and renamed when it is complete and on the disk. So a
// process that is killed at any moment leaves either no run of that name or a complete one; what it leaves aside the
// next Create removes.
func Create(dir string, d Draft) (*Run, error) {
	if d.Disk == nil {
		d.Disk = disk.System()
	}
	if d.Name != "" {
		if err := setting.CheckRun(d.Name); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrName, err)
		}
	}
	if err := disk.MakeFolder(d.Disk, dir); err != nil {
		return nil, fmt.Errorf("create the folder of runs: %w", err)
	}
	if err := clear(d.Disk, dir); err != nil {
		return nil, err
	}
	if d.Name != "" {
		return createNamed(dir, d.Name, d)
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d", d.Stem, n)
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			continue
		}
		// Another process may have taken the name since: then the next one is tried.
		if r, err := createNamed(dir, name, d); !errors.Is(err, ErrOccupied) {
			return r, err
		}
	}
}

// createNamed is Create for a draft with a name. After an error nothing is held.
func createNamed(dir, name string, d Draft) (*Run, error) {
	folder := filepath.Join(dir, name)
	if err := free(d.Disk, folder); err != nil {
		return nil, err
	}
	aside := filepath.Join(dir, asideName(name, newSuffix))
	lock, err := makeAside(d.Disk, aside)
	if errors.Is(err, ErrHeld) {
		return nil, fmt.Errorf("%w: another process makes %s", ErrOccupied, folder)
	}
	if err != nil {
		return nil, fmt.Errorf("create the run folder: %w", err)
	}
	r := &Run{folder: folder, info: d.Info, lock: lock, disk: d.Disk, now: time.Now}
	r.info.Name, r.info.State, r.info.Started, r.info.PID = name, Running, r.now().UTC(), os.Getpid()
	if err := r.fill(aside, d); err != nil {
		return nil, errors.Join(err, disk.RemoveTree(d.Disk, aside), r.Close())
	}
	if err := d.Disk.Rename(aside, folder); errors.Is(err, fs.ErrExist) { // made a moment ago
		return nil, errors.Join(fmt.Errorf("%w: %s exists", ErrOccupied, folder), disk.RemoveTree(d.Disk, aside), r.Close())
	} else if err != nil {
		return nil, errors.Join(fmt.Errorf("create the run folder: %w", err), disk.RemoveTree(d.Disk, aside), r.Close())
	}
	// The new name survives a crash of the machine from here on.
	if err := d.Disk.SyncFolder(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("create the run folder: %w", err), r.Close())
	}
	if r.metrics, err = openMetrics(d.Disk, r.Path(metricsFile)); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// fill writes the first files of a run into the folder aside. Each file is synced, and at last the folder.
func (r *Run) fill(aside string, d Draft) error {
	for _, sub := range subfolders {
		if err := d.Disk.Mkdir(filepath.Join(aside, sub)); err != nil {
			return fmt.Errorf("create the run folder: %w", err)
		}
	}
	overrides := ""
	if len(d.Overrides) > 0 {
		overrides = strings.Join(d.Overrides, "\n") + "\n"
	}
	r.info.Updated = r.info.Started
	info, err := encodeInfo(r.info)
	if err != nil {
		return err
	}
	files := []struct {
		name string
		data []byte
	}{{configFile, d.Config}, {overridesFile, []byte(overrides)}, {NormalisationFile, d.Normalisation}, {infoFile, info}}
	for _, f := range files {
		if f.name == NormalisationFile && f.data == nil {
			continue
		}
		if err := put(d.Disk, filepath.Join(aside, f.name), f.data); err != nil {
			return fmt.Errorf("write %s of the run: %w", f.name, err)
		}
	}
	if err := d.Disk.SyncFolder(aside); err != nil {
		return fmt.Errorf("create the run folder: %w", err)
	}
	return nil
}

// put writes a file into a folder that nobody reads yet. It is synced, but not replaced atomically.
func put(d disk.Disk, path string, data []byte) error {
	f, err := d.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// free returns ErrOccupied if there is something at the path of a new run. It removes what a process of an older
// release left that was killed while it made the run.
func free(d disk.Disk, folder string) error {
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !unborn(folder) || held(folder) {
		return fmt.Errorf("%w: %s exists", ErrOccupied, folder)
	}
	if err := disk.RemoveTree(d, folder); err != nil {
		return fmt.Errorf("remove what is left of a run: %w", err)
	}
	return nil
}

// unborn reports whether a folder holds only what older releases made before run.json, so its process was killed
// there. The lock was made first: a folder with files and without a lock is not one of them, and whatever else it
// holds is not touched.
func unborn(folder string) bool {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	locked := len(entries) == 0
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir() && slices.Contains(subfolders[:], name):
			inside, err := os.ReadDir(filepath.Join(folder, name))
			if err != nil || len(inside) > 0 {
				return false
			}
		case name == lockFile:
			locked = true
		case !slices.ContainsFunc([]string{configFile, overridesFile, infoFile}, func(file string) bool {
			// a temporary file that was not renamed
			return name == file && file != infoFile || name == file+disk.Suffix || strings.HasPrefix(name, "."+file+".")
		}):
			return false
		}
	}
	return locked
}
