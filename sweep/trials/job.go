package trials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep"
)

// Request is a sweep that somebody asks for.
type Request struct {
	Folder      Folder
	Path        string // of the sweep file, for messages
	Text        []byte // of the sweep file
	Kinds       *config.Kinds
	Environment []string                          // NAME=value, of keys
	Read        func(path string) ([]byte, error) // reads the files of the base; nil: from the disk
	Line        config.Command                    // as that of Leader
}

// Job is a sweep that can be led: its file fits its configuration, and its journal, if there is one. Prepare and
// Again make it; they change nothing on the disk.
type Job struct {
	Folder Folder
	File   *File
	Base   *Base
	text   []byte
	source source
	local  bool   // a command leads it, not a host of many
	obeys  bool   // an order that was given before stands
	extend string // the command that adds trials, for a hint
}

// Prepare reads and checks a sweep: its file, that configurations are valid, and that the journal, if there is
// one, has the same spec. It writes nothing. The error is an *config.Error with all faults of the file, ErrName,
// or ErrChanged with the lines that differ.
func Prepare(r Request) (*Job, error) {
	if err := CheckName(r.Folder.Name); err != nil {
		return nil, err
	}
	f, err := Parse(r.Path, r.Text)
	if err != nil {
		return nil, err
	}
	if r.Read == nil {
		r.Read = os.ReadFile
	}
	base, err := f.Resolve(Sources{Kinds: r.Kinds, Folder: filepath.Dir(r.Path), Read: r.Read, Environment: r.Environment})
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(filepath.Dir(r.Path))
	if err != nil {
		return nil, fmt.Errorf("find the folder of the sweep file: %w", err)
	}
	j := &Job{
		Folder: r.Folder, File: f, Base: base, text: r.Text,
		source: source{Folder: folder, Environment: KeyVariables(r.Kinds, r.Environment)},
	}
	if err := j.checkGrid(r.Path); err != nil {
		return nil, err
	}
	j.extend = Leader{Program: "switchyard", Line: r.Line}.line("sweep", "extend", r.Folder.Name)
	return j, j.compare()
}

// Continue is Prepare, or Again if the file is the copy that the folder of the sweep has: paths in it are relative to
// the folder that it was read from first.
func Continue(r Request) (*Job, error) {
	given, err := os.Stat(r.Path)
	kept, missing := os.Stat(r.Folder.Path(SpecFile))
	if err != nil || missing != nil || !os.SameFile(given, kept) {
		return Prepare(r)
	}
	if _, err := r.Folder.remembered(); err != nil { // an older release kept nothing
		return Prepare(r)
	}
	return Again(r)
}

// maxChecked is the most combinations of a grid that are checked before it starts.
const maxChecked = 20_000

// checkGrid returns an error with the combinations of a grid, or the configurations of a list, that are not
// valid, unless these are left out. Of the faults it shows three. If all are invalid, none is left out.
func (j *Job) checkGrid(path string) error {
	s := &j.File.Spec
	var all []sweep.Settings
	switch s.Method {
	case sweep.Grid:
		all = s.Combinations(min(s.Trials, maxChecked))
	case sweep.List:
		all = s.List
	default:
		return nil
	}
	var faults []config.Problem
	invalid := 0
	for _, c := range all {
		_, err := j.Base.Of(c)
		if err == nil {
			continue
		}
		invalid++
		var problems *config.Error
		// Three show what is wrong; the number of all stands in the hint.
		if errors.As(err, &problems) && len(faults) < 3 {
			p := problems.Problems[0]
			faults = append(faults, config.Problem{
				Origin: config.Origin{Name: path}, Key: strings.Join(c.Arguments(), " "), Message: p.Key + ": " + p.Message,
				Hint: p.Hint,
			})
		}
	}
	switch {
	case invalid == 0:
		return nil
	case s.SkipInvalid && invalid < len(all):
		j.File.Notes = append(j.File.Notes, fmt.Sprintf("%d of %d combinations are not valid and are left out", invalid,
			len(all)))
		return nil
	}
	return config.Hint(&config.Error{Problems: faults}, "%d of %d combinations are not valid; invalid: skip leaves "+
		"them out", invalid, len(all))
}

// compare returns ErrChanged if the sweep exists with another meaning. What counts is the spec that it began
// with; the cap may also be the one that it was extended to.
func (j *Job) compare() error {
	state, err := j.Folder.State()
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	// A sweep that was extended has two caps; the file may have either. Its cohorts stay within the first.
	file := j.File.Spec
	if file.Trials == state.Spec.Trials {
		file.Trials, file.Stop.Cohort = state.Base.Trials, min(file.Stop.Cohort, state.Base.Trials)
	}
	// A key that is younger than the sweep has the value that runs had before there was one.
	began := *state.Base
	if c, err := j.Base.kinds.Parse(JournalFile, []byte(began.Base)); err == nil {
		began.Base = string(c.YAML())
	}
	differences := sweep.Differences(&began, &file)
	if len(differences) == 0 {
		return nil
	}
	var lines []string
	for _, d := range differences {
		lines = append(lines, diff(d)...)
	}
	return config.Hint(config.Usage(fmt.Errorf("%w: %s began with the lines -, the file has the lines +\n%s", ErrChanged,
		j.Folder.Path(), strings.Join(lines, "\n"))),
		"choose another --name; or put the file back as %s has it; more trials of the same: %s",
		j.Folder.Path(SpecFile), j.extend)
}

// diff are the lines of a difference. Of the configuration, the lines that differ are shown.
func diff(d sweep.Difference) []string {
	if !strings.Contains(d.Old, "\n") && !strings.Contains(d.New, "\n") {
		var lines []string
		if d.Old != "" {
			lines = append(lines, "- "+d.Path+": "+d.Old)
		}
		if d.New != "" {
			lines = append(lines, "+ "+d.Path+": "+d.New)
		}
		return lines
	}
	list := []string{"  " + d.Path + ":"}
	old, new := dotted(d.Old), dotted(d.New)
	for _, l := range old {
		if !slices.Contains(new, l) {
			list = append(list, "-   "+l)
		}
	}
	for _, l := range new {
		if !slices.Contains(old, l) {
			list = append(list, "+   "+l)
		}
	}
	return list
}

// dotted are the lines of a configuration with the names of their sections.
func dotted(text string) []string {
	var list []string
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " "):
			section = strings.TrimSuffix(line, ":") + "."
		case strings.HasPrefix(line, " "):
			list = append(list, section+strings.TrimSpace(line))
		default:
			list = append(list, line)
		}
	}
	return list
}

// Leader is what leading a sweep needs.
type Leader struct {
	Host    *lead.Host
	RunsDir string
	Page    func(title string, report any) ([]byte, error) // makes the page of a report
	Show    func(*sweep.State, []sweep.Record)             // called after each change; nil: nobody looks
	// called once the journal says what the sweep is; nil: nobody waits
	Begun   func()
	Program string // how the program is called, for best/command.txt
	// Word is how a word of a command is written for a shell; nil: as it is.
	Word func(string) string
	// Line is a command about the sweeps of the folder, as a user types it; nil: Program and the words.
	Line    config.Command
	Threads int
	Log     hclog.Logger
}

// word is a word of a command.
func (l Leader) word(text string) string {
	if l.Word != nil {
		return l.Word(text)
	}
	return text
}

// line is a command about the sweeps of the folder.
func (l Leader) line(words ...string) string {
	if l.Line != nil {
		return l.Line(words...)
	}
	return strings.Join(append([]string{l.Program}, words...), " ")
}

// Lead leads the sweep until all trials have ended, ctx ends or the user stops it. In the last two cases the
// error is sweep.ErrInterrupted. It writes the results in any case. extend is the number of trials to extend it
// to; 0, or no more than there are: none. The lock of the folder is held all the time; if another process has it,
// Lead returns at once.
func (j *Job) Lead(ctx context.Context, l Leader, extend int) (err error) {
	lock, err := j.Folder.Lead()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := j.compare(); err != nil { // another process may have begun it meanwhile
		return err
	}
	if err := j.begin(); err != nil {
		return err
	}
	if err := store.WriteFile(j.Folder.Path(SpecFile), j.text); err != nil {
		return err
	}
	journal, records, err := sweep.OpenJournal(j.Folder.Path(JournalFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	// The journal is open: from here on the engine alone decides what happens.
	w := &writer{job: j, leader: l}
	r := &runner{
		name: j.Folder.Name, spec: &j.File.Spec, base: j.Base, keep: j.File.Keep, host: l.Host, runsDir: l.RunsDir,
		log: l.Log, threads: l.Threads,
	}
	engine, err := sweep.NewEngine(&j.File.Spec, journal, records, r, sweep.Options{
		Observer: w, Order: j.Folder.Order,
		Parallel: j.File.Parallel,
	})
	if err != nil {
		return err
	}
	// A process that was killed may have extended it already.
	if extend > engine.State().Spec.Trials {
		if err := engine.Extend(extend); err != nil {
			return err
		}
	}
	if l.Begun != nil {
		l.Begun()
	}
	// Results are written whatever the end, so that a sweep that was interrupted can be looked at, too.
	err = engine.Run(ctx)
	state := engine.State()
	if err == nil && j.File.Keep == KeepBest {
		r.keepBest(state)
	}
	return errors.Join(err, j.Folder.KeepBest(state, l), j.Folder.Export(state, l.Page))
}

// keepBest deletes the checkpoints of the complete trials that are not the best.
func (r *runner) keepBest(s *sweep.State) {
	for _, run := range losers(r.name, s) {
		r.discard(run)
	}
}

// losers are the runs of the complete trials that are not the best. Further trials make none of them the best.
func losers(name string, s *sweep.State) []string {
	best, _ := s.Best()
	kept := map[int]bool{}
	for _, t := range best {
		kept[t.ID] = true
	}
	var list []string
	for _, t := range s.Trials {
		for i := range t.Runs {
			if t.Status == sweep.StatusComplete && !kept[t.ID] {
				list = append(list, RunName(name, t.ID, i+1, len(t.Runs)))
			}
		}
	}
	return list
}

// Losers are the runs of a sweep that it needs no more: those of complete trials that are not the best, once all
// trials have ended. A sweep that goes on or is led, and one whose file says keep: all, needs every run. A sweep
// without a journal has none.
func (f Folder) Losers() ([]string, error) {
	s, err := f.State()
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil || !s.Done || f.Led() {
		return nil, err
	}
	text, err := store.ReadFile(f.Path(SpecFile))
	if err != nil {
		return nil, fmt.Errorf("read the spec of the sweep: %w", err)
	}
	file, err := Parse(f.Path(SpecFile), text)
	if err != nil || file.Keep == KeepAll {
		return nil, err
	}
	return losers(f.Name, s), nil
}

// writer writes the results from time to time: it waits fifty times as long as the last export took, and at least
// exportEvery.
type writer struct {
	job    *Job
	leader Leader
	next   time.Time
}

var _ sweep.Observer = (*writer)(nil)

// exportEvery is the shortest time between two writes of the results while the sweep runs.
const exportEvery = 5 * time.Second

// Changed implements sweep.Observer. An export that fails is logged and tried again later; the journal has
// everything.
func (w *writer) Changed(s *sweep.State, list []sweep.Record) {
	if w.leader.Show != nil {
		w.leader.Show(s, list)
	}
	if began := time.Now(); began.After(w.next) {
		if err := w.job.Folder.Export(s, w.leader.Page); err != nil {
			w.leader.Log.Error("the results were not written", "error", err, "next", "they are written again later")
		}
		now := time.Now()
		w.next = now.Add(max(exportEvery, 50*now.Sub(began)))
	}
}
