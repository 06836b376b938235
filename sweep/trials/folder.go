package trials

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep"
)

// What counts in a folder: spec.yaml and source.json say what the sweep is, journal.jsonl what has happened, and
// order what the user wants. Tables, page and best/ are made from these and the runs. Every file but the journal
// is replaced as a whole, so that a crash leaves the old or the new one.

// Files of the folder of a sweep.
const (
	SpecFile    = "spec.yaml"          // as the user wrote it
	JournalFile = "journal.jsonl"      // what has happened
	TableFile   = "trials.csv"         // as sweep.State.WriteCSV writes it
	LinesFile   = "trials.jsonl"       // one sweep.ReportTrial on each line
	PageFile    = "index.html"         // one page that needs no server
	OptunaFile  = "optuna-journal.log" // the same as a journal of Optuna
	BestFolder  = "best"               // of the best trial: see KeepBest
	orderFile   = "order"              // what the user wants: run, pause or stop
	lockFile    = "lock"               // held by the process that leads the sweep
	runsFolder  = "runs"               // of a sweep on one machine
)

// Errors of folders of sweeps.
var (
	// ErrNotFound is returned when there is no sweep of that name.
	ErrNotFound = fmt.Errorf("no such sweep: %w", fs.ErrNotExist)
	// ErrName is returned for a name that no sweep can have.
	ErrName = errors.New("not a name of a sweep")
	// ErrChanged is returned when the spec of a sweep has another meaning than the one that it began with.
	ErrChanged = errors.New("the sweep has another spec")
)

// Folder is the folder of a sweep: Name below Dir. It holds nothing else, and its methods read the disk each
// time.
type Folder struct{ Dir, Name string }

// CheckName returns an ErrName with a hint if no sweep can have the name: it has to be one that a run can have,
// and short enough that the names of its runs are, too.
func CheckName(name string) error {
	err := setting.CheckRun(name)
	if err == nil && len(name) > maxName {
		err = fmt.Errorf("%q has %d characters, more than %d", name, len(name), maxName)
	}
	if err != nil {
		return config.Hint(config.Usage(fmt.Errorf("%w: %w", ErrName, err)), "choose another --name")
	}
	return nil
}

// Path is the path of a file of the folder.
func (f Folder) Path(parts ...string) string {
	return filepath.Join(append([]string{f.Dir, f.Name}, parts...)...)
}

// Runs is the folder of the runs of a sweep on one machine.
func (f Folder) Runs() string { return f.Path(runsFolder) }

// exists reports whether there is a journal.
func (f Folder) exists() bool {
	_, err := os.Stat(f.Path(JournalFile))
	return err == nil
}

// State reads the journal of a sweep that another process may lead. A sweep without a first record is
// ErrNotFound, with a hint at a name that was probably meant; a damaged journal is sweep.ErrJournal.
func (f Folder) State() (*sweep.State, error) {
	records, err := sweep.ReadJournal(f.Path(JournalFile))
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		hint := "sweep ls shows which there are"
		var all []string
		for _, o := range List(f.Dir) {
			all = append(all, o.Name)
		}
		if near := setting.Nearest(f.Name, all); near != "" {
			hint = "did you mean " + near + "?"
		}
		return nil, config.Hint(config.Usage(fmt.Errorf("%w: %s", ErrNotFound, filepath.Join(f.Dir, f.Name))), "%s", hint)
	}
	return sweep.NewState(records)
}

// List lists the sweeps of a folder by name. A folder that cannot be read has none.
func List(dir string) []Folder {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []Folder
	for _, e := range entries {
		if f := (Folder{dir, e.Name()}); f.exists() {
			list = append(list, f)
		}
	}
	return list
}

// Lead takes the lock of the sweep, which says that a process leads it. The lock ends with the process. A lock
// that another process has is an error with a hint, and is not waited for. The caller closes the lock.
func (f Folder) Lead() (io.Closer, error) {
	lock, err := store.Lock(f.Path(lockFile))
	if errors.Is(err, store.ErrHeld) {
		return nil, config.Hint(config.Usagef("sweep %s is led by another process", f.Name),
			"look at it with sweep show, or end it with sweep stop")
	}
	return lock, err
}

// Led reports whether a process leads the sweep.
func (f Folder) Led() bool { return store.Locked(f.Path(lockFile)) }

// Order is what the user wants of the sweep. A file that is missing or says anything else than to pause or to
// stop means to proceed.
func (f Folder) Order() sweep.Order {
	data, err := store.ReadFile(f.Path(orderFile))
	order := sweep.Order(strings.TrimSpace(string(data)))
	if err != nil || !slices.Contains([]sweep.Order{sweep.Pause, sweep.Halt}, order) {
		return sweep.Proceed
	}
	return order
}

// SetOrder tells the process that leads the sweep what the user wants. The order is on the disk when it returns;
// the process sees it within the time between two looks.
func (f Folder) SetOrder(o sweep.Order) error {
	return store.WriteShared(f.Path(orderFile), []byte(o+"\n"))
}

// write replaces a file of the folder by what fill writes. If fill fails, the old file stays.
func (f Folder) write(name string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	return store.WriteFile(f.Path(name), b.Bytes())
}

// Export writes what others read: table, lines, the journal of Optuna, and the page. page makes the page of a
// report. All four are tried even if one fails; the errors are joined.
func (f Folder) Export(s *sweep.State, page func(title string, report any) ([]byte, error)) error {
	report := f.Report(s)
	return errors.Join(
		f.write(TableFile, s.WriteCSV),
		f.write(LinesFile, func(w io.Writer) error {
			lines := json.NewEncoder(w)
			for _, t := range report.Trials {
				if err := lines.Encode(t); err != nil {
					return err
				}
			}
			return nil
		}),
		f.write(OptunaFile, func(w io.Writer) error { return s.WriteOptuna(w, f.Name) }),
		f.write(PageFile, func(w io.Writer) error {
			text, err := page(f.Name, report)
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		}),
	)
}

// KeepBest copies configuration and checkpoints of the best trial to best/, with the command that computes the
// same parameters again. Of a Pareto front each trial has a folder in it. Without a complete trial nothing
// happens.
//
// The copy is made aside and renamed at the end. A process that is killed in between leaves no best/, or the old
// one; the sweep makes it anew when it is led again.
func (f Folder) KeepBest(s *sweep.State, l Leader) error {
	list, confirmed := s.Best()
	if len(list) == 0 {
		return nil
	}
	next := f.Path("." + BestFolder + ".new")
	if err := disk.RemoveTree(disk.System(), next); err != nil {
		return fmt.Errorf("make %s: %w", BestFolder, err)
	}
	for _, t := range list {
		to := next
		if len(list) > 1 {
			to = filepath.Join(next, fmt.Sprintf("trial-%04d", t.ID))
		}
		if err := f.keep(s, t, confirmed, to, l); err != nil {
			return fmt.Errorf("keep the best trial: %w", err)
		}
	}
	// The copy is complete: the old one makes room for it.
	old := f.Path(BestFolder)
	if err := disk.RemoveTree(disk.System(), old); err != nil {
		return fmt.Errorf("keep the best trial: %w", err)
	}
	return disk.System().Rename(next, old)
}

// bestInfo is best/trial.json. Hash is that of the parameters of the first run at its last rung, which Command
// reproduces.
type bestInfo struct {
	Trial     int                       `json:"trial"`
	Confirms  int                       `json:"confirms,omitempty"`
	Confirmed bool                      `json:"confirmed"` // by runs with fresh seeds
	Settings  sweep.Settings            `json:"settings"`
	Metrics   map[string]sweep.Estimate `json:"metrics"`
	Run       string                    `json:"run"`
	Hash      string                    `json:"params_sha256"`
	Command   string                    `json:"command"`
}

// keep copies the first run of a trial to the folder to. Files that the run does not have are left
// out. The command names the place where the copy lies in the end, not that where it is made.
func (f Folder) keep(s *sweep.State, t *sweep.Trial, confirmed bool, to string, l Leader) error {
	run := RunName(f.Name, t.ID, 1, len(t.Runs))
	from := filepath.Join(l.RunsDir, run)
	target := f.Path(BestFolder, strings.TrimPrefix(filepath.Base(to), "."+BestFolder+".new"))
	info := bestInfo{
		Trial: t.ID, Confirms: t.Of, Confirmed: confirmed, Settings: t.Settings, Metrics: map[string]sweep.Estimate{},
		Run:  run,
		Hash: t.Runs[0].Results[t.Reached()-1].Hash,
		Command: fmt.Sprintf("%s train %s --name %s-best", l.Program,
			l.word(filepath.Join(target, "config.yaml")), f.Name),
	}
	for _, m := range s.Spec.Metrics {
		info.Metrics[m.Name] = sweep.NewEstimate(t.Values(m.Name, t.Reached()))
	}
	data, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	if err := disk.MakeFolder(disk.System(), filepath.Join(to, store.Checkpoints)); err != nil {
		return err
	}
	// Beside the checkpoints; the log stays with the run.
	files := []string{"config.yaml", "run.json", "overrides.txt", "metrics.jsonl", "normalisation.json"}
	kept, err := os.ReadDir(filepath.Join(from, store.Checkpoints))
	if errors.Is(err, fs.ErrNotExist) {
		return config.Hint(fmt.Errorf("run %s has no checkpoints in %s: %w", run, l.RunsDir, err),
			"it was removed or renamed; %s prints the command that trains it again", l.line("sweep", "best", f.Name))
	}
	if err != nil {
		return err
	}
	for _, e := range kept {
		if !e.IsDir() {
			files = append(files, filepath.Join(store.Checkpoints, e.Name()))
		}
	}
	for _, name := range files {
		err := disk.Copy(disk.System(), filepath.Join(from, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(
		store.WriteFile(filepath.Join(to, "trial.json"), append(data, '\n')),
		store.WriteFile(filepath.Join(to, "command.txt"), []byte(info.Command+"\n")),
	)
}

// Report is a sweep in the form that the page shows.
func (f Folder) Report(s *sweep.State) *sweep.Report {
	return s.Report(f.Name, func(trial, replicate, replicates int) string {
		return RunName(f.Name, trial, replicate,
			replicates)
	})
}

// encode writes v as indented JSON.
func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// decodeFile reads a file of JSON into v.
func decodeFile(path string, v any) error {
	data, err := store.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Shelf is a folder of sweeps, for the page. It remembers the last report of each, as long as the journal does
// not grow. Its methods may be called concurrently.
type Shelf struct {
	dir string

	mu      sync.Mutex
	reports map[string]shelved
}

// shelved is a report, with the length of the journal that it was made from: journals only grow.
type shelved struct {
	size   int64 // of the journal
	report *sweep.Report
}

// NewShelf returns the shelf of a folder.
func NewShelf(dir string) *Shelf { return &Shelf{dir: dir, reports: map[string]shelved{}} }

// Sweeps lists the sweeps that can be read, the last begun first. One that cannot be read is left out.
func (s *Shelf) Sweeps() []Summary {
	list, _ := summaries(s.dir)
	return list
}

// Sweep is the report of a sweep, which the caller must not change. A name that no sweep can have is ErrNotFound,
// as one that none has. While a report is made, others wait.
func (s *Shelf) Sweep(name string) (*sweep.Report, error) {
	f := Folder{s.dir, name}
	if setting.CheckRun(name) != nil {
		return nil, ErrNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	size := int64(0) // of the journal, which a sweep that begins does not have yet
	if info, err := os.Stat(f.Path(JournalFile)); err == nil {
		size = info.Size()
	}
	known := s.reports[name]
	// The journal has grown, or there is no report yet.
	if known.report == nil || known.size != size {
		state, err := f.State()
		if err != nil {
			return nil, err
		}
		known = shelved{size, f.Report(state)}
		s.reports[name] = known
	}
	r := *known.report
	r.Live = f.Led()
	return &r, nil
}
