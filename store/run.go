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

// Errors of runs.
var (
	// ErrOccupied is returned by Create when the name is taken.
	ErrOccupied = errors.New("run name is taken")
	// ErrName is returned when a name is not valid as the name of a folder on every system.
	ErrName = errors.New("not a run name")
	// ErrNotFound is returned when there is no run of that name.
	ErrNotFound = errors.New("no such run")
	// ErrHeld is returned when another process works on the run.
	ErrHeld = errors.New("run is in use by another process")
	// ErrDamaged is returned when a file of the run cannot be read.
	ErrDamaged = errors.New("run file is damaged")
)

// Files and folders of a run that other packages write.
const (
	Checkpoints = "checkpoints" // folder
	Log         = "log.jsonl"
)

const (
	configFile    = "config.yaml"
	overridesFile = "overrides.txt"
	infoFile      = "run.json"
	metricsFile   = "metrics.jsonl"
	lockFile      = "lock"
)

// subfolders are created with a run.
var subfolders = [...]string{Checkpoints, "figures", "tables"}

// Run is a run folder held by this process. Its methods are not safe for concurrent use.
type Run struct {
	folder  string
	info    Info
	lock    *os.File
	disk    disk.Disk
	metrics *metricsLog
	now     func() time.Time
}

// Create makes the folder dir/name with configuration and overrides, and holds the run. For an empty name it takes the
// first free name of stem-1, stem-2, … The caller sets preset, seed, steps and versions in info.
func Create(dir, name, stem string, config []byte, overrides []string, info Info) (*Run, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder of runs: %w", err)
	}
	name, err := claim(dir, name, stem)
	if err != nil {
		return nil, err
	}
	r := &Run{folder: filepath.Join(dir, name), info: info, disk: disk.System(), now: time.Now}
	if err := r.hold(); err != nil {
		return nil, err
	}
	if !unborn(r.folder) { // another process was faster
		return nil, errors.Join(fmt.Errorf("%w: %s exists", ErrOccupied, r.folder), r.Close())
	}
	if err := r.fill(name, config, overrides); err != nil {
		// The folder is new and holds nothing of value: the name becomes free again.
		return nil, errors.Join(err, r.Close(), os.RemoveAll(r.folder))
	}
	return r, nil
}

// unborn reports whether a folder holds only what Create makes before run.json, so its process was killed there. The
// lock is made first.
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
			return name == file && file != infoFile || strings.HasPrefix(name, "."+file+".")
		}):
			return false
		}
	}
	return locked
}

// claim makes the folder. The name is ours if the folder did not exist, or was that of an unborn run, and if this
// process then gets the lock.
func claim(dir, name, stem string) (string, error) {
	if name != "" {
		if err := setting.CheckRun(name); err != nil {
			return "", fmt.Errorf("%w: %w", ErrName, err)
		}
		err := os.Mkdir(filepath.Join(dir, name), 0o755)
		if errors.Is(err, fs.ErrExist) && !unborn(filepath.Join(dir, name)) {
			return "", fmt.Errorf("%w: %s exists", ErrOccupied, filepath.Join(dir, name))
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("create the run folder: %w", err)
		}
		return name, nil
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d", stem, n)
		err := os.Mkdir(filepath.Join(dir, name), 0o755)
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("create the run folder: %w", err)
		}
	}
}

func (r *Run) fill(name string, config []byte, overrides []string) error {
	for _, sub := range subfolders {
		if err := os.MkdirAll(filepath.Join(r.folder, sub), 0o755); err != nil {
			return fmt.Errorf("create the run folder: %w", err)
		}
	}
	if err := WriteFile(r.Path(configFile), config); err != nil {
		return err
	}
	text := ""
	if len(overrides) > 0 {
		text = strings.Join(overrides, "\n") + "\n"
	}
	if err := WriteFile(r.Path(overridesFile), []byte(text)); err != nil {
		return err
	}
	r.info.Name, r.info.State, r.info.Started = name, Running, r.now().UTC()
	return r.begin()
}

// Open holds an existing run so that it can continue.
func Open(dir, name string) (*Run, error) {
	folder, err := find(dir, name)
	if err != nil {
		return nil, err
	}
	r := &Run{folder: folder, disk: disk.System(), now: time.Now}
	if err := r.hold(); err != nil {
		return nil, err
	}
	if r.info, err = readInfo(folder); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.info.renamed(name)
	return r, nil
}

// Begin sets the state of an opened run to Running and opens its metrics. It drops a torn last line and the records
// after step, which is the step of a checkpoint.
func (r *Run) Begin(step uint64) error {
	if err := cutMetrics(r.Path(metricsFile), step); err != nil {
		return err
	}
	r.info.State, r.info.Step, r.info.ExitReason = Running, step, ""
	return r.begin()
}

func (r *Run) begin() error {
	r.info.PID = os.Getpid()
	if err := r.Update(func(*Info) {}); err != nil {
		return err
	}
	var err error
	r.metrics, err = openMetrics(r.disk, r.Path(metricsFile))
	return err
}

// hold takes the lock, or returns which process has it.
func (r *Run) hold() error {
	lock, err := acquire(filepath.Join(r.folder, lockFile))
	if errors.Is(err, ErrHeld) {
		if info, readErr := readInfo(r.folder); readErr == nil {
			return fmt.Errorf("%w: %s, process %d", ErrHeld, r.folder, info.PID)
		}
		return fmt.Errorf("%w: %s", ErrHeld, r.folder)
	}
	r.lock = lock
	return err
}

// Name is the name of the run.
func (r *Run) Name() string { return r.info.Name }

// Folder is the path of the run's folder.
func (r *Run) Folder() string { return r.folder }

// Path joins the folder of the run and the elements of a path below it.
func (r *Run) Path(elements ...string) string {
	return filepath.Join(append([]string{r.folder}, elements...)...)
}

// Info is what run.json holds.
func (r *Run) Info() Info { return r.info }

// Update changes run.json by calling change; Update sets the time. A change that cannot be written stays in Info, and
// the next Update writes it.
func (r *Run) Update(change func(*Info)) error {
	change(&r.info)
	r.info.Updated = r.now().UTC()
	return writeInfo(r.disk, r.folder, r.info)
}

// Append adds a record to metrics.jsonl. A record that cannot be written is kept, and written before the next one.
func (r *Run) Append(m Record) error { return r.metrics.append(m) }

// Cut drops the metrics after step, because the run has returned to that step.
func (r *Run) Cut(step uint64) error { return r.metrics.cut(step) }

// Use makes the run write through d.
func (r *Run) Use(d disk.Disk) {
	r.disk = d
	if r.metrics != nil {
		r.metrics.disk = d
	}
}

// Sync flushes the metrics to the disk, including those that could not be written before.
func (r *Run) Sync() error { return r.metrics.sync() }

// End records the final state and its reason.
func (r *Run) End(state State, reason string) error {
	return r.Update(func(i *Info) { i.State, i.ExitReason = state, reason })
}

// Close releases the run. Its content is already on the disk.
func (r *Run) Close() error {
	var err error
	if r.metrics != nil {
		err = r.metrics.close()
		r.metrics = nil
	}
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
		r.lock = nil
	}
	return err
}

// Config reads the configuration of the named run and returns it with its path.
func Config(dir, name string) (data []byte, path string, err error) {
	folder, err := find(dir, name)
	if err != nil {
		return nil, "", err
	}
	path = filepath.Join(folder, configFile)
	if data, err = os.ReadFile(path); err != nil {
		return nil, path, fmt.Errorf("read the configuration of the run: %w", err)
	}
	return data, path, nil
}

// find returns the folder of the named run.
func find(dir, name string) (string, error) {
	folder := filepath.Join(dir, name)
	if err := setting.CheckRun(name); err != nil {
		return "", fmt.Errorf("%w: %w", ErrName, err)
	}
	if _, err := os.Stat(filepath.Join(folder, infoFile)); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s", ErrNotFound, folder)
	} else if err != nil {
		return "", fmt.Errorf("look for the run: %w", err)
	}
	return folder, nil
}

func sortByStart(list []Info) {
	slices.SortStableFunc(list, func(a, b Info) int { return b.Started.Compare(a.Started) })
}
