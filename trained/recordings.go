package trained

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/rng"
)

// Recordings are the data that a run on own data was trained and tested with, read again from its files. It returns
// ErrUnable for a run on a simulator. Values are in the units of the data, before transforms, and each recording
// knows its part.
func (r *Run) Recordings() ([]Recording, Columns, error) {
	data, err := r.recordings()
	if err != nil {
		return nil, Columns{}, err
	}
	if data == nil {
		return nil, Columns{}, fmt.Errorf("%w: env.kind=%s is simulated, the run has no recordings", ErrUnable,
			r.config.Env.Kind)
	}
	list, columns := RecordingsOf(data.Scale.Invert(data.Set))
	for i, name := range data.Set.Recordings() {
		list[i].continues, list[i].Of = data.Set.Episodes[i].Continues, name
	}
	for _, part := range []files.Part{files.Training, files.Validation, files.Test} {
		for _, i := range data.Split.Of(part) {
			list[i].Part = part
		}
	}
	return list, columns, nil
}

// Read reads other files as the run reads its own: the same columns, times, grid and transforms (env.observe,
// env.time, …). What how says has precedence. Files without columns that the options of the run name are read by how
// alone. Columns of the names that the run knows are in its order, whatever that of the files is.
func (r *Run) Read(paths []string, how files.Options) (*files.Dataset, error) {
	d, err := r.read(paths, how)
	if err != nil {
		return nil, err
	}
	return d.InOrder(r.scale.Observations.Names, r.scale.Controls.Names), nil
}

// read is Read with the columns in the order of the files.
func (r *Run) read(paths []string, how files.Options) (*files.Dataset, error) {
	usual, own, err := job.Reading(r.config)
	if err != nil {
		return nil, fmt.Errorf("read as the run does: %w", err)
	}
	if !own {
		return files.Read(paths, how)
	}
	// As the run's own first; where the columns are not there, as the question says, with the run's transforms. Any other
	// fault is one of the files: read otherwise, they would give an answer about something else.
	d, err := files.Read(paths, how.Or(usual))
	if !errors.Is(err, files.ErrData) {
		return d, err
	}
	lack := files.Lacking(paths, how.Or(usual))
	if lack == nil {
		return d, err
	}
	how.Transform = usual.Transform
	if d, plain := files.Read(paths, how); plain == nil {
		return d, nil
	}
	if !how.Asks(lack.Option) {
		err = lack.OfRun(paths)
	}
	return nil, err
}

// Selection says which recordings a question is about: those of files, or the run's own.
type Selection struct {
	Files []string
	How   files.Options // of reading Files: it has precedence over how the run reads its own
	Part  string        // of the run's own: training, validation or test; empty: all, with those that were split joined
}

// parts are the words of Selection.Part.
var parts = map[string]files.Part{"training": files.Training, "validation": files.Validation, "test": files.Test}

// episodes is how many test episodes of a simulator a question is about.
const episodes = 10

// simulated are test episodes of a run on a simulator, which training never saw. They are the same for every
// question.
func (r *Run) simulated() ([]Recording, Columns, error) {
	// Another stream than that of the training episodes, which begin at the seed of the run.
	d, err := files.Generate(r.env, rng.New(r.config.Seed, rng.Evaluation), episodes, r.config.Env.Length)
	if err != nil {
		return nil, Columns{}, fmt.Errorf("simulate test episodes: %w", err)
	}
	list, columns := RecordingsOf(d)
	for i := range list {
		list[i].Part = files.Test
		list[i].Name = fmt.Sprintf("test episode %d of %s", i+1, r.config.Env.Kind)
	}
	return list, columns, nil
}

// Select reads what a question is about, in the units of the data: files, the run's own recordings, or test episodes of
// its simulator. It returns config.ErrUsage for a part that does not exist.
func (r *Run) Select(s Selection) ([]Recording, Columns, error) {
	if len(s.Files) > 0 {
		if s.Part != "" {
			return nil, Columns{}, config.Usagef("--part %s: it is about the run's own data, not about --data", s.Part)
		}
		d, err := r.Read(s.Files, s.How)
		if err != nil {
			return nil, Columns{}, err
		}
		list, columns := RecordingsOf(d)
		return list, columns, r.Fits(columns)
	}
	// The run's own data: its recordings, or test episodes of its simulator.
	own := r.Recordings
	if r.env != nil {
		if s.How.Truth != "" {
			return nil, Columns{}, r.unlabelled(s.How.Truth)
		}
		own = r.simulated
	}
	list, columns, err := own()
	if err == nil && s.How.Truth != "" {
		err = r.label(list, s.How.Truth)
	}
	if err != nil || s.Part == "" {
		return Join(list), columns, err
	}
	part, ok := parts[s.Part]
	if !ok {
		return nil, columns, config.Usagef("--part %s: must be training, validation or test", s.Part)
	}
	// Parts are not joined: a recording that was split keeps the piece of this part alone.
	list = slices.DeleteFunc(list, func(r Recording) bool { return r.Part != part })
	if len(list) == 0 {
		return nil, columns, config.Usagef("--part %s: the run has no such recordings", s.Part)
	}
	return list, columns, nil
}

// label gives the run's own recordings the labels of a column. list are the run's own recordings, all of them and
// in their order.
func (r *Run) label(list []Recording, column string) error {
	modes, err := job.Modes(r.config, column)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Truth = whole(modes[i])
	}
	return nil
}

// unlabelled is the error about a column of labels that is named for a run on a simulator, which has no columns.
func (r *Run) unlabelled(column string) error {
	return config.Usagef("--truth %s: env.kind=%s is simulated, and has its own true regimes or none", column,
		r.config.Env.Kind)
}

// labelled are the run's own data with the labels of a column. The data that it is given stay as they are.
func (r *Run) labelled(own *eval.Recordings, column string) (*eval.Recordings, error) {
	if own == nil {
		return nil, r.unlabelled(column)
	}
	modes, err := job.Modes(r.config, column)
	if err != nil {
		return nil, err
	}
	set, labelled := *own.Set, *own
	set.Episodes = slices.Clone(set.Episodes)
	for i := range set.Episodes {
		set.Episodes[i].Modes = modes[i]
	}
	labelled.Set = &set
	return &labelled, nil
}

// Join returns recordings with those in one piece that a split by time divided. The pieces keep no part. list
// stays as it is; joined arrays are new.
func Join(list []Recording) []Recording {
	var whole []Recording
	for _, r := range list {
		if !r.continues || len(whole) == 0 {
			whole = append(whole, r)
			continue
		}
		w := &whole[len(whole)-1]
		if r.Controls != nil && len(w.Controls) > 0 { // the first row of a piece is zero
			r.Controls = slices.Clone(r.Controls)
			if r.Controls[0] = r.before; r.before == nil { // what acted before goes on
				r.Controls[0] = w.Controls[len(w.Controls)-1]
			}
		}
		name, _, _ := strings.Cut(w.Name, ", steps ")
		w.Name, w.Part = name, files.Unassigned
		w.Observations, w.Controls = slices.Concat(w.Observations, r.Observations), slices.Concat(w.Controls, r.Controls)
		w.Truth = slices.Concat(w.Truth, r.Truth)
	}
	return whole
}

// RecordingsOf are the episodes of a data set in its own units. Missing values are NaN. The rows are copies.
func RecordingsOf(d *files.Dataset) ([]Recording, Columns) {
	d = files.Normalisation{}.Apply(d) // without origins
	var list []Recording
	for i := range d.Episodes {
		e := &d.Episodes[i]
		r := Recording{
			Name: e.Source, Key: e.Key, KeyColumns: d.Key, Times: e.Times, Part: e.Part, Truth: whole(e.Modes),
			Series: Series{
				Of:           e.Name,
				Observations: rows(e.Observations, d.Spec.Observation),
				Controls:     rows(e.Controls, d.Spec.Control),
			},
			before: e.Led(),
		}
		for j := range e.Observations {
			r.Observations[j/d.Spec.Observation][j%d.Spec.Observation] = e.Value(j)
		}
		for j := range e.Controls {
			r.Controls[j/d.Spec.Control][j%d.Spec.Control] = e.Acted(j)
		}
		list = append(list, r)
	}
	return list, columnsOf(d)
}

// whole are modes as labels; nil without any.
func whole(modes []int32) []int {
	var list []int
	for _, z := range modes {
		list = append(list, int(z))
	}
	return list
}

// columnsOf are the columns of a data set; the pixels of images have no names.
func columnsOf(d *files.Dataset) Columns {
	return Columns{Observations: d.Channels(), Controls: d.Actions(), DT: d.Spec.DT, TimeUnit: d.TimeUnit}
}

// Columns are the names of the channels of the data that the run was trained on, and the time between two steps. A
// simulator's channels are y1, y2, … and u1, u2, …; the pixels of its images have no names.
func (r *Run) Columns() (Columns, error) {
	if r.env == nil {
		_, c, err := r.Recordings()
		return c, err
	}
	d := &files.Dataset{Spec: r.env.Spec()}
	if e, ok := r.env.(envs.Pictured); ok {
		d.Image = e.Image()
	}
	return columnsOf(d), nil
}

// Fits returns ErrSeries if data with these columns are not what the model takes.
func (r *Run) Fits(c Columns) error {
	own, err := r.Columns()
	if err != nil { // the files of training are gone; sizes are compared where a series is used
		return nil
	}
	if len(c.Observations) == len(own.Observations) && (len(c.Controls) == len(own.Controls)) {
		return nil
	}
	counted := func(what string, names []string) string {
		if len(names) == 0 {
			return "no " + what + "s"
		}
		return fmt.Sprintf("%s (%s)", terminal.Count(len(names), what), strings.Join(names, ", "))
	}
	seen := func(c Columns) string {
		if c.Observations == nil {
			return "images and " + counted("control", c.Controls)
		}
		return counted("observed column", c.Observations) + " and " + counted("control", c.Controls)
	}
	return fmt.Errorf("%w: it has %s, the model takes %s", ErrSeries, seen(c), seen(own))
}
