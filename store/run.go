package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Errors of runs.
var (
	// ErrOccupied is returned by Create when the name is taken.
	ErrOccupied = errors.New("run name is taken")
	// ErrEvents is returned by TensorBoard for a folder that another run has written to.
	ErrEvents = errors.New("event files of another run")
	// ErrName is returned when a name is not valid as the name of a folder on every system.
	ErrName = errors.New("not a run name")
	// ErrNotFound is returned when there is no run of that name.
	ErrNotFound = errors.New("no such run")
	// ErrHeld is returned when another process works on the run.
	ErrHeld = errors.New("run is in use by another process")
	// ErrDamaged is returned when a file of the run cannot be read: it is missing, no regular file, or not what it
	// should hold.
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

	// In the folder of checkpoints: see checkpoint.RolledBack, and the term of a coordinator.
	rollbackFile, termFile = "rollback", "term"
)

// maxInfo is the most bytes that are read of run.json. What a run writes is far smaller.
const maxInfo = 4 << 20

// subfolders are created with a run.
var subfolders = [...]string{Checkpoints, "figures", "tables"}

// Run is a run folder held by this process. Its methods are not safe for concurrent use.
//
//	Create ----------------------------> Update, Append, Cut, Sync ---> End ---> Close
//	Open ---> Begin with a checkpoint --^
//
// Between Open and Begin there are no metrics to append to. Close releases the folder. A run that has begun and is
// closed without End counts as lost, as if its process had been killed.
type Run struct {
	folder  string
	info    Info
	lock    *os.File // nil: not held
	disk    disk.Disk
	metrics *metricsLog      // nil before Begin
	now     func() time.Time // the clock; another one in tests
}

// Open holds an existing run so that it can continue. Nothing is written yet. It returns ErrHeld if a process works
// on the run, this one included.
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
	return r, nil
}

// Begin sets the state of an opened run to Running and opens its metrics. It drops a torn last line and the records
// after step, which is the step of a checkpoint. Step 0 drops all of them.
func (r *Run) Begin(step uint64) error {
	if err := cutMetrics(r.disk, r.Path(metricsFile), math.MaxInt64, step); err != nil {
		return err
	}
	r.info.State, r.info.Step, r.info.ExitReason = Running, step, ""
	return r.begin()
}

// begin records that this process leads the run, and opens the metrics.
func (r *Run) begin() error {
	r.info.PID = os.Getpid()
	if err := r.Update(func(*Info) {}); err != nil {
		return err
	}
	var err error
	r.metrics, err = openMetrics(r.disk, r.Path(metricsFile))
	return err
}

// hold takes the lock, or returns which process has it. By then another run may be in the folder, which has a lock of
// its own: the one that was there has been removed or renamed by the process that had it.
func (r *Run) hold() error {
	lock, err := holdFolder(r.disk, r.folder)
	for n := 0; n < 3 && errors.Is(err, fs.ErrNotExist) && isRun(r.folder); n++ {
		lock, err = holdFolder(r.disk, r.folder)
	}
	switch {
	case errors.Is(err, ErrHeld):
		if info, readErr := readInfo(r.folder); readErr == nil {
			return fmt.Errorf("%w: %s, process %d", ErrHeld, r.folder, info.PID)
		}
		return fmt.Errorf("%w: %s", ErrHeld, r.folder)
	case errors.Is(err, fs.ErrNotExist) && !isRun(r.folder):
		return fmt.Errorf("%w: %s", ErrNotFound, r.folder)
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

// Info is what run.json holds. It is a copy, but shares metrics and lists with the run.
func (r *Run) Info() Info { return r.info }

// Update changes run.json by calling change; Update sets the time. The file is replaced atomically and synced. A
// change that cannot be written stays in Info, and the next Update writes it.
func (r *Run) Update(change func(*Info)) error {
	change(&r.info)
	r.info.Updated = r.now().UTC()
	return writeInfo(r.disk, r.folder, r.info)
}

// Append adds a record to metrics.jsonl. A record that cannot be written is kept, and written before the next one.
// It reaches the file at once, and the disk with Sync.
func (r *Run) Append(m Record) error { return r.metrics.append(m) }

// Cut drops the metrics after step, because the run has returned to that step. A later Append may begin with the
// next step again.
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

// End records the final state and its reason. The run is still held.
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
	if data, err = disk.ReadFile(path, maxFile); err != nil {
		return nil, path, fmt.Errorf("%w: read the configuration: %w", ErrDamaged, err)
	}
	return data, path, nil
}

// find returns the folder of the named run. A folder that holds only what an older release made before run.json is no
// run.
func find(dir, name string) (string, error) {
	folder := filepath.Join(dir, name)
	if err := setting.CheckRun(name); err != nil {
		return "", fmt.Errorf("%w: %w", ErrName, err)
	}
	if !isRun(folder) {
		return "", fmt.Errorf("%w: %s", ErrNotFound, folder)
	}
	return folder, nil
}

// isRun reports whether a folder has what only runs have. A run whose run.json is gone is one, too: it is damaged.
func isRun(folder string) bool {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(folder, name))
		return err == nil
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return false
	}
	if has(infoFile) {
		return true
	}
	traces := has(lockFile) || has(Log) || has(metricsFile) || has(configFile) && has(Checkpoints)
	return traces && !unborn(folder)
}

// sortByStart sorts runs, the last started first; those of the same time keep their order.
func sortByStart(list []Info) {
	slices.SortStableFunc(list, func(a, b Info) int { return b.Started.Compare(a.Started) })
}
