package cmd

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/trained"
)

// asking are the flags that all questions to a trained model share.
type asking struct {
	reading    readFlags
	data, in   []string
	part       string
	out        []string
	checkpoint string
	seed       uint64
}

// add adds the flags; noun says what is asked about the data, as "filter".
func (f *asking) add(c *cobra.Command, noun string) {
	c.Flags().StringSliceVar(&f.data, "data", nil, "files to "+noun+", in the form of those that the model was trained "+
		"on (default: the run's own)")
	c.Flags().StringSliceVar(&f.in, "in", nil, "another word for --data")
	c.Flags().StringVar(&f.part, "part", "", "of the run's own data only this part: training, validation or test "+
		"(default: all)")
	c.RegisterFlagCompletionFunc("part", cobra.FixedCompletions([]cobra.Completion{"training", "validation", "test"},
		cobra.ShellCompDirectiveNoFileComp))
	f.reading.add(c)
	f.addOut(c)
}

// addOut adds the flags of a question that needs no data.
func (f *asking) addOut(c *cobra.Command) {
	c.Flags().StringSliceVarP(&f.out, "out", "o", nil, "files to write, by their endings: "+
		strings.Join(trained.Endings, " "))
	c.Flags().StringVar(&f.checkpoint, "checkpoint", checkpoint.Best, "best (by validation) or last")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "of the random paths")
	c.RegisterFlagCompletionFunc("checkpoint", cobra.FixedCompletions([]cobra.Completion{checkpoint.Best, checkpoint.Last},
		cobra.ShellCompDirectiveNoFileComp))
}

// question makes the command for a question about a run.
func (a *app) question(use, short, long, example string, run func(name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: exactly("NAME"), ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error { return run(args[0]) },
	}
}

// check is called before any work is done.
func (f *asking) check() error {
	if f.checkpoint != checkpoint.Best && f.checkpoint != checkpoint.Last {
		return config.Usagef("--checkpoint %s: it takes best or last", f.checkpoint)
	}
	if len(f.data) > 0 && len(f.in) > 0 {
		return config.Usagef("--data and --in are the same: give one of them")
	}
	f.data = append(f.data, f.in...)
	f.in = nil
	for _, path := range f.out {
		if err := trained.CheckEnding(path); err != nil {
			return config.Hint(err, "end the name in %s", strings.Join(trained.Endings, ", "))
		}
	}
	return nil
}

// open opens the run that is asked.
func (a *app) open(f *asking, name string) (*switchyard.Run, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if _, err := a.runConfig(name); err != nil {
		return nil, err
	}
	run, err := switchyard.OpenAt(filepath.Join(a.runsDir, name), f.checkpoint, config.Of(a.kinds))
	if err != nil {
		return nil, err
	}
	for _, s := range run.Skipped() {
		fmt.Fprintln(a.err, "warning: skipped:", s)
	}
	return run, nil
}

// parts are the words of --part.
var parts = map[string]files.Part{"training": files.Training, "validation": files.Validation, "test": files.Test}

// openWithRecordings opens the run of a question and reads what it is asked about.
func (a *app) openWithRecordings(f *asking, name string) (*switchyard.Run, []switchyard.Recording, switchyard.Columns,
	error,
) {
	run, err := a.open(f, name)
	if err != nil {
		return nil, nil, switchyard.Columns{}, err
	}
	list, columns, err := a.recordings(f, name, run)
	return run, list, columns, err
}

// recordings are the data that are asked about: those of files, or the run's own.
func (a *app) recordings(f *asking, name string, run *switchyard.Run) ([]switchyard.Recording, switchyard.Columns,
	error,
) {
	if len(f.data) > 0 {
		if f.part != "" {
			return nil, switchyard.Columns{}, config.Usagef("--part %s: it is about the run's own data, not about --data",
				f.part)
		}
		d, err := f.read(run)
		if err != nil {
			return nil, switchyard.Columns{}, err
		}
		list, columns := switchyard.RecordingsOf(d)
		return list, columns, run.Fits(columns)
	}
	list, columns, err := run.Recordings()
	if errors.Is(err, switchyard.ErrUnable) {
		return nil, columns, config.Hint(config.Usagef("run %s was trained on a simulator: say what data", name),
			"e.g. %s, then --data some.npz", a.command("data", "generate", run.Environment(), "--episodes", "1", "--out",
				"some.npz"))
	}
	if err != nil {
		return nil, columns, config.Hint(err, "give the files with --data")
	}
	if f.part == "" {
		return switchyard.Join(list), columns, nil
	}
	part, ok := parts[f.part]
	if !ok {
		return nil, columns, config.Usagef("--part %s: it takes training, validation or test", f.part)
	}
	list = slices.DeleteFunc(list, func(r switchyard.Recording) bool { return r.Part != part })
	if len(list) == 0 {
		return nil, columns, config.Usagef("--part %s: the run has no such recordings", f.part)
	}
	return list, columns, nil
}

// read reads the files of a question as the run reads its own; flags have precedence.
func (f *asking) read(run *switchyard.Run) (*files.Dataset, error) {
	how, err := f.reading.options()
	if err != nil {
		return nil, err
	}
	d, err := run.Read(f.data, how)
	return d, dataFault(err)
}

// each asks about every recording.
func each[A any](list []switchyard.Recording, ask func(s switchyard.Series) (A, error)) ([]A, error) {
	var answers []A
	for _, r := range list {
		one, err := ask(r.Series)
		if err != nil {
			if len(list) > 1 {
				err = fmt.Errorf("%s: %w", r.Name, err)
			}
			return nil, err
		}
		answers = append(answers, one)
	}
	return answers, nil
}

// tell writes an answer into the files that were asked for and prints it.
func (a *app) tell(f *asking, y *trained.Answer) error {
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
