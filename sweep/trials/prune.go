package trials

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// PruneRequest says where to look.
type PruneRequest struct {
	Runs   string        // folder of runs
	Sweeps string        // folder of sweeps
	Older  time.Duration // finished runs whose last change is at least so long ago go as a whole; 0: none
	Now    time.Time
}

// What goes of a run.
const (
	Whole       = "whole run"           // its folder
	Losers      = "checkpoints and log" // of a trial that lost; its metrics stay
	Checkpoints = "older checkpoints"   // all but the best and the last
	DataSet     = "data set"            // that was uploaded to the coordinator of this folder
)

// uploadTime is how long a data set of no run stays: it comes before the configuration that names it.
const uploadTime = time.Hour

// Item is something of one run that can go, or a data set. Find makes it and changes nothing; Remove removes it.
type Item struct {
	Run   string `json:"run"` // of a data set its file
	What  string `json:"what"`
	Why   string `json:"why"`
	Bytes int64  `json:"bytes"` // that become free

	dir   string   // folder of runs that the run lies in
	paths []string // what is removed; empty: the whole run
}

// Find lists what can go: of losers of sweeps that are over first, then of finished runs. Runs that a process
// works on, and those that can be resumed, are left out, and so are the runs of sweeps, which only their sweep
// decides about. Finished runs that the configuration of another run names, or the spec of a sweep that is not
// over, do not go as a whole. Data sets come last. Items without bytes are left out. It changes nothing; it returns
// the errors of reading the folders.
func Find(r PruneRequest) ([]Item, error) {
	items, err := r.losers()
	if err != nil {
		return nil, err
	}
	list, err := store.List(r.Runs)
	if err != nil {
		return nil, err
	}
	named, err := configurations(r.Runs, list, func(i store.Info) bool { return i.State != store.Finished })
	if err != nil {
		return nil, err
	}
	// What can go on may need files of runs that have ended.
	if err := r.sweeping(named); err != nil {
		return nil, err
	}
	for _, info := range list {
		if info.State != store.Finished || info.Sweep != "" {
			continue
		}
		item, err := r.finished(info, named)
		if err != nil {
			return nil, err
		}
		if item.Bytes > 0 {
			items = append(items, item)
		}
	}
	data, err := r.dataSets(list, items)
	return append(items, data...), err
}

// dataSets are those that no run names but the ones that go, nor a sweep that is not over. The data sets of uploads
// that were broken off are among them.
func (r PruneRequest) dataSets(list []store.Info, items []Item) ([]Item, error) {
	folder := store.DataFolder(r.Runs)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the data sets: %w", err)
	}
	texts, err := configurations(r.Runs, list, func(run store.Info) bool {
		return !slices.ContainsFunc(items, func(i Item) bool { return i.What == Whole && i.Run == run.Name })
	})
	if err == nil {
		err = r.sweeping(texts)
	}
	if err != nil {
		return nil, err
	}
	named := strings.Join(slices.Collect(maps.Values(texts)), "\n")
	var data []Item
	for _, e := range entries {
		hash := strings.TrimSuffix(e.Name(), store.Incomplete)
		info, err := e.Info()
		if err != nil || !store.IsHash(hash) || r.Now.Sub(info.ModTime()) < uploadTime || strings.Contains(named, hash) {
			continue
		}
		data = append(data, Item{
			Run: e.Name(), What: DataSet, Why: "no run or sweep names it", Bytes: info.Size(), dir: folder,
		})
	}
	return data, nil
}

// losers are the runs of complete trials that are not the best of a sweep that is over. Runs of a sweep on this machine
// lie in its folder, those of a sweep that a coordinator has led among the other runs.
func (r PruneRequest) losers() ([]Item, error) {
	var items []Item
	for _, f := range List(r.Sweeps) {
		names, err := f.Losers()
		if err != nil {
			return nil, fmt.Errorf("look at sweep %s: %w", f.Name, err)
		}
		for _, name := range names {
			// A run that is being worked on, or that only has the name of a trial, is left alone.
			for _, dir := range []string{f.Runs(), r.Runs} {
				info, err := store.Load(dir, name)
				if errors.Is(err, store.ErrNotFound) || err == nil && (info.Sweep != f.Name || info.State == store.Running) {
					continue
				}
				if err != nil {
					return nil, err
				}
				item := Item{Run: name, What: Losers, Why: "a trial that lost in sweep " + f.Name, dir: dir}
				if err := item.take(filepath.Join(dir, name, store.Checkpoints), filepath.Join(dir, name, store.Log)); err != nil {
					return nil, err
				}
				if item.Bytes > 0 {
					items = append(items, item)
				}
			}
		}
	}
	return items, nil
}

// finished is what can go of a finished run; nothing if it has no bytes.
func (r PruneRequest) finished(info store.Info, named map[string]string) (Item, error) {
	item := Item{Run: info.Name, dir: r.Runs}
	folder := filepath.Join(r.Runs, info.Name)
	if r.Older > 0 && r.Now.Sub(info.Updated) >= r.Older && !mentioned(folder, info.Name, named) {
		item.What, item.Why = Whole, "finished, last changed "+info.Updated.Local().Format(time.DateOnly)
		var err error
		item.Bytes, err = store.Size(r.Runs, info.Name)
		return item, err
	}
	item.What, item.Why = Checkpoints, "finished; the best and the last checkpoint stay"
	dir := filepath.Join(folder, store.Checkpoints)
	older, err := checkpoint.Surplus(dir)
	if err != nil {
		return Item{}, fmt.Errorf("look at run %s: %w", info.Name, err)
	}
	return item, item.take(older...)
}

// configurations are the texts of the configurations of the runs that count, by name: they may name files of other
// runs, e.g. a scaling, and data sets.
func configurations(dir string, list []store.Info, counts func(store.Info) bool) (map[string]string, error) {
	texts := map[string]string{}
	for _, info := range list {
		if !counts(info) {
			continue
		}
		text, _, err := store.Config(dir, info.Name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		texts[info.Name] = string(text)
	}
	return texts, nil
}

// sweeping adds the specs of the sweeps that are not over to the texts, under names that no run has, and what trials
// get beside the spec: the configuration that is searched around, from the journal, and the files that were submitted.
func (r PruneRequest) sweeping(texts map[string]string) error {
	for _, f := range List(r.Sweeps) {
		s, err := f.State()
		if err != nil && !errors.Is(err, ErrNotFound) { // one without a journal is about to begin
			return fmt.Errorf("look at sweep %s: %w", f.Name, err)
		}
		if err == nil && s.Done {
			continue
		}
		text, err := store.ReadFile(f.Path(SpecFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the spec of sweep %s: %w", f.Name, err)
		}
		parts := []string{string(text)}
		if s != nil {
			parts = append(parts, s.Spec.Base)
		}
		if from, err := f.remembered(); err == nil {
			parts = slices.AppendSeq(parts, maps.Values(from.Files))
		}
		texts["sweep "+f.Name] = strings.Join(parts, "\n")
	}
	return nil
}

// mentioned reports whether another run's configuration, or the spec of a sweep, names a file in the folder: as
// RUNS/NAME/…, whatever stands before, or, by a command that ran in the folder of runs, as NAME/….
func mentioned(folder, name string, texts map[string]string) bool {
	runs := filepath.Base(filepath.Dir(folder))
	named := regexp.MustCompile(`(` + regexp.QuoteMeta(runs) + `/|(^|[\s"'\[,])(\./)*)` + regexp.QuoteMeta(name) + "/")
	for _, text := range texts {
		if named.MatchString(text) {
			return true
		}
	}
	return false
}

// take adds files, and folders with what is in them. What is empty or does not exist is left out.
func (i *Item) take(paths ...string) error {
	for _, path := range paths {
		size, err := store.SizeOf(path)
		if err != nil {
			return err
		}
		if size > 0 {
			i.paths, i.Bytes = append(i.paths, path), i.Bytes+size
		}
	}
	return nil
}

// ErrPlanChanged is returned by Remove for a run that is no longer what it was when Find looked.
var ErrPlanChanged = errors.New("the run has changed meanwhile")

// Remove removes the item. It holds the run meanwhile, and returns store.ErrHeld if a process works on it.
func (i Item) Remove() error {
	switch i.What {
	case Whole:
		return store.Remove(i.dir, i.Run)
	case DataSet:
		if err := disk.RemoveTree(disk.System(), filepath.Join(i.dir, i.Run)); err != nil {
			return fmt.Errorf("remove a data set: %w", err)
		}
		return nil
	}
	r, err := store.Open(i.dir, i.Run)
	if err != nil {
		return err
	}
	// It may have been resumed since Find looked, and its checkpoints are then needed.
	if i.What == Checkpoints && r.Info().State != store.Finished {
		return errors.Join(fmt.Errorf("%w: %s", ErrPlanChanged, i.Run), r.Close())
	}
	var all []error
	for _, path := range i.paths {
		all = append(all, disk.RemoveTree(disk.System(), path))
	}
	if err := errors.Join(append(all, r.Close())...); err != nil {
		return fmt.Errorf("remove %s of run %s: %w", i.What, i.Run, err)
	}
	return nil
}

// Sum is the room that items take.
func Sum(items []Item) (bytes int64) {
	for _, i := range items {
		bytes += i.Bytes
	}
	return bytes
}
