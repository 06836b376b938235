package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/trained"
)

// asking are the flags that all questions to a trained model share. Each question is a command: it opens the run
// that its argument names, reads recordings, asks, prints the answer and writes it into the files of --out.
type asking struct {
	// How files are read, beyond what the run says of its own.
	reading readFlags
	// Files to ask about; check moves what --in names into data. Without any, the run's own data are asked about.
	data, in []string
	part     string
	// Files that get the answer, each in the format of its ending.
	out      []string
	controls string // file of them, for questions that take one
	channels bool   // the picture of the answer shows channels, which images have none of
	// Which parameters are asked, trained.Best or trained.Last, and the seed of what the question draws at random,
	// if it draws anything.
	checkpoint string
	seed       uint64
	// suits checks flags that one question has of its own; nil: there is nothing to check.
	suits func(c *cobra.Command) error
}

// add adds the flags of a question about recordings; noun says what is asked about the data, as "filter".
func (f *asking) add(c *cobra.Command, noun string) {
	c.Flags().StringSliceVar(&f.data, "data", nil, "files to "+noun+", in the format of the training data (default: the "+
		"run's own data)")
	c.Flags().StringSliceVar(&f.in, "in", nil, "same as --data")
	c.Flags().StringVar(&f.part, "part", "", "use only this part of the run's own data: training, validation or "+
		"test (default: all)")
	c.RegisterFlagCompletionFunc("part", cobra.FixedCompletions([]cobra.Completion{"training", "validation", "test"},
		cobra.ShellCompDirectiveNoFileComp))
	f.reading.add(c, true)
	f.addOut(c)
}

// addCheckpoint adds the flag that says which parameters are asked.
func (f *asking) addCheckpoint(c *cobra.Command) {
	c.Flags().StringVar(&f.checkpoint, "checkpoint", trained.Best, "checkpoint to use: best (by validation) or last")
	c.RegisterFlagCompletionFunc("checkpoint", completeWords([]string{trained.Best, trained.Last}))
}

// addOut adds the flags of a question that needs no data.
func (f *asking) addOut(c *cobra.Command) {
	c.Flags().StringSliceVarP(&f.out, "out", "o", nil, "files to write; the ending sets the format: "+
		strings.Join(trained.Endings, " "))
	f.addCheckpoint(c)
}

// addSeed adds the flag of a question that draws at random.
func (f *asking) addSeed(c *cobra.Command) {
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the random paths")
}

// check is called before any work is done: what is computed for minutes must not fail at its end for want of a
// format or a folder. It makes --in the same as --data. Both at once, a file whose ending names no format, and flags
// that say how files are read where none are, are usage errors.
func (f *asking) check(c *cobra.Command) error {
	if len(f.data) > 0 && len(f.in) > 0 {
		return config.Usagef("--data and --in are the same: give one of them")
	}
	f.data = append(f.data, f.in...)
	f.in = nil
	if path := job.Torn(f.data); path != "" {
		return config.Hint(config.Usagef("%s: --data and --in cannot name a path with a comma, which separates files", path),
			"rename it, or give the folder of the file")
	}
	for _, path := range f.out {
		if err := trained.CheckEnding(path); err != nil {
			return config.Hint(err, "end the name in %s", strings.Join(trained.Endings, ", "))
		}
		if err := checkPlace(path); err != nil {
			return err
		}
	}
	if len(f.data) == 0 {
		if err := unused(c, "says how files are read, and none are given", readNames()...); err != nil {
			return err
		}
	}
	if f.suits == nil {
		return nil
	}
	return f.suits(c)
}

// lines reports whether the question is about observations that come on stdin, one by one.
func (f *asking) lines() bool { return len(f.data) == 1 && f.data[0] == stdin }

// question makes the command for a question about a run; ask gets the run open. Flags are checked, and outputs that
// would replace an input are refused, before the run is opened. The caller adds the flags to the command that it
// gets.
func (a *app) question(f *asking, use, short, long, example string, ask func(run *trained.Run) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: exactly("NAME"), ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c); err != nil {
				return err
			}
			// The outputs are compared with the data of the run before its checkpoint, which may be large, is read.
			if err := a.spare(args[0], f.out, append([]string{f.controls}, f.data...)); err != nil {
				return err
			}
			run, err := a.open(args[0], f.checkpoint)
			if err != nil {
				return err
			}
			return ask(run)
		},
	}
}

// about makes of a function of recordings what question needs: it reads the recordings that the flags name, calls
// answer with them and the names of their columns, and tells what it returns.
func (a *app) about(f *asking,
	answer func(run *trained.Run, list []trained.Recording, c trained.Columns) (*trained.Answer, error),
) func(run *trained.Run) error {
	return func(run *trained.Run) error {
		list, columns, err := a.recordings(f, run)
		if err != nil {
			return err
		}
		y, err := answer(run, list, columns)
		if err != nil {
			return err
		}
		return a.tell(f, y)
	}
}

// open opens the run that a question is put to, at its best or its last checkpoint, and warns on stderr of damaged
// checkpoints that were skipped. An unknown word for the checkpoint and the name of no run are usage errors.
func (a *app) open(name, which string) (*trained.Run, error) {
	if which != trained.Best && which != trained.Last {
		return nil, config.Usagef("--checkpoint %s: must be best or last", which)
	}
	c, err := a.runConfig(name)
	if err != nil {
		return nil, err
	}
	run, err := trained.Of(c, filepath.Join(a.runsDir, name), which)
	if err != nil {
		// Only where the best checkpoint alone is damaged another one helps.
		if which == trained.Best && errors.Is(err, checkpoint.ErrCorrupt) {
			folder := filepath.Join(a.runsDir, name, store.Checkpoints)
			if _, _, fault := checkpoint.Open(folder, checkpoint.Last); fault == nil {
				err = config.Hint(err, "the last checkpoint may do: --checkpoint %s", trained.Last)
			}
		}
		return nil, err
	}
	// Damaged checkpoints: the answer comes from another one.
	for _, s := range run.Skipped() {
		a.remark("warning", fmt.Sprint("skipped: ", s))
	}
	return run, nil
}

// runConfig reads the configuration of a run of the local folder. If there is no such run, the error has the most
// similar name as a hint.
func (a *app) runConfig(name string) (config.Config, error) {
	c, err := job.ReadConfig(a.kinds, a.runsDir, name)
	return c, a.missingRun(err)
}

// drawn returns a usage error for a picture that the answer will not have: nothing is computed for it.
func (f *asking) drawn(c trained.Columns) error {
	i := slices.IndexFunc(f.out, trained.Draws)
	if i < 0 || !f.channels || len(c.Observations) > 0 {
		return nil
	}
	return config.Hint(config.Usagef("--out %s: the data are images, of which no such picture is drawn", f.out[i]),
		"end the name in .npz, .csv or .json")
}

// recordings are the data that are asked about: those of files, or the run's own, of which --part may choose one.
// The columns are the names of channels and controls. Where the run's own files are gone, the hint says to name
// them. A picture that cannot be drawn of them is a usage error.
func (a *app) recordings(f *asking, run *trained.Run) ([]trained.Recording, trained.Columns, error) {
	how, err := f.reading.options()
	if err != nil {
		return nil, trained.Columns{}, err
	}
	list, columns, err := run.Select(trained.Selection{Files: f.data, How: how, Part: f.part})
	switch {
	case len(f.data) > 0:
		err = dataFault(err)
	case errors.Is(err, fs.ErrNotExist):
		err = config.Hint(err, "give the files with --data")
	// With --truth a fault may lie in the column that the flag names, even where the files are the run's own.
	case how.Truth != "":
		err = dataFault(err)
	case err != nil && config.HintOf(err) == "" && !errors.Is(err, config.ErrUsage):
		err = config.Hint(err, "give the files with --data")
	}
	if err == nil {
		err = f.drawn(columns)
	}
	return list, columns, err
}

// read reads the files of a question as the run reads its own; flags have precedence. It returns nil without files.
func (f *asking) read(run *trained.Run) (*files.Dataset, error) {
	how, err := f.reading.options()
	if err != nil || len(f.data) == 0 {
		return nil, err
	}
	d, err := run.Read(f.data, how)
	return d, dataFault(err)
}

// tell writes an answer into the files that were asked for and prints it: as JSON, or as text followed by the names
// of the files. Warnings go to stderr before either. An existing file is replaced as a whole.
func (a *app) tell(f *asking, y *trained.Answer) error {
	for _, w := range y.Warnings {
		a.remark("warning", w)
	}
	for _, path := range f.out {
		if err := a.replaceFile(path, func(w io.Writer) error { return y.Write(w, path) }); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	if a.asJSON {
		text, err := y.JSON()
		if err != nil {
			return err
		}
		return a.printRaw(string(text))
	}
	if err := y.WriteText(a.out); err != nil {
		return err
	}
	for _, path := range f.out {
		if err := a.printf("wrote    %s\n", path); err != nil {
			return err
		}
	}
	return nil
}

// portrait is what the page shows of the model of a run, at its best checkpoint. It is a web.ModelFunc.
func (a *app) portrait(_ context.Context, name string) (any, error) {
	run, err := a.open(name, trained.Best)
	if err != nil {
		return nil, err
	}
	return run.Portrait()
}

// spare refuses outputs that would replace what a run of that name or this command reads, by whatever path, or that the
// run would read as its data from then on. Two outputs may not be one file.
func (a *app) spare(name string, outputs, read []string) error {
	c, err := a.runConfig(name)
	if err != nil {
		return err
	}
	// files.Reads compares files rather than paths, so that a link to an input is recognised.
	for i, path := range outputs {
		what := ""
		switch {
		case files.Reads(job.Inputs(c), path):
			what = "is, or would be, data of the run " + name
		case files.Reads(read, path):
			what = "is read by this command"
		case a.keeps(name, path):
			what = "belongs to the run " + name
		}
		for _, other := range outputs[:i] {
			if what == "" && filepath.Clean(other) == filepath.Clean(path) {
				what = "is there twice"
			}
		}
		if what != "" {
			return config.Hint(config.Usagef("--out %s: the file %s", path, what), "choose another name")
		}
	}
	return nil
}

// keeps reports whether a file is one of those that a run lives by: in its folder, or a checkpoint.
func (a *app) keeps(name, path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	folder := filepath.Join(a.runsDir, name)
	for _, pattern := range []string{"*", store.Checkpoints + "/*"} {
		list, err := fs.Glob(os.DirFS(folder), pattern)
		if err != nil {
			return false
		}
		for _, own := range list {
			if of, err := os.Stat(filepath.Join(folder, own)); err == nil && os.SameFile(info, of) {
				return true
			}
		}
	}
	return false
}
