package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
)

// dataCommand is the group `data`: what files hold, without a run.
func (a *app) dataCommand() *cobra.Command {
	c := group("data", "Look at, simulate, convert and draw trajectories", `Look at, simulate, convert and draw trajectories.

Files are .npz, .npy, .csv, .tsv (also .gz), .parquet and .mat, folders of those, or
globs in quotes. docs/data.md describes them.`)
	c.AddCommand(a.dataInfoCommand(), a.dataGenerateCommand(), a.dataConvertCommand(), a.dataShowCommand())
	return c
}

// readFlags say how data files are read.
type readFlags struct {
	// Columns of tables, or names of arrays, by their role; nil: by the convention of names.
	observe, control, label []string
	time, id, resample      string
	dates                   string
	truth                   string // only segment has the flag
	transform               string // only data info has the flag
	rename                  map[string]string
	// controlsAfter says that control t acts between steps t and t+1.
	controlsAfter bool
	// Steps of the episodes that long recordings are cut into; 0: they stay whole.
	cut int
	// Time between two steps; 0: the files say it. limit is the largest number of bytes that are held in memory.
	dt    float64
	limit int64
}

// readNames are the flags that add defines, in its order.
func readNames() []string {
	var c cobra.Command
	c.Flags().SortFlags = false
	new(readFlags).add(&c, false)
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// add defines the flags that all commands share that read data. ofRun says that files are read as a run reads its own,
// where no flag says otherwise; without a run columns are guessed. Names of columns are completed from the files of the
// command line.
func (f *readFlags) add(c *cobra.Command, ofRun bool) {
	by := func(convention string) string {
		if ofRun {
			return " (default: as the run reads its own)"
		}
		return " (default: " + convention + ", or guessed from names and values)"
	}
	c.Flags().StringSliceVar(&f.observe, "observe", nil, "observed `COLUMNS` (or array)"+by("y, y1, y_name ..."))
	c.Flags().StringSliceVar(&f.control, "control", nil, "control `COLUMNS` (or array)"+by("u, u1, u_name ..."))
	labels := " (default: label ...)"
	if ofRun {
		labels = by("")
	}
	c.Flags().StringSliceVar(&f.label, "label", nil, "label `COLUMNS` (or array) of 0 and 1"+labels)
	c.Flags().StringVar(&f.time, "time", "", "`COLUMN` of times (numbers or dates), or DAY,CLOCK, or none"+by("t"))
	c.Flags().StringVar(&f.dates, "dates", "", "`ORDER` of dates such as 01/02/2021: day-first or month-first")
	c.RegisterFlagCompletionFunc("dates", completeWords([]string{files.DayFirst, files.MonthFirst}))
	c.Flags().StringVar(&f.id, "id", "", "`COLUMN` of names of recordings, or several: STORE,ITEM"+by("episode"))
	c.Flags().StringVar(&f.resample, "resample", "", "`STEP` of an even time grid: a number, or 15min, 1d, 1mo ... for dates")
	c.Flags().StringToStringVar(&f.rename, "rename", nil, "rename arrays or columns: `OLD=NEW,...`")
	c.Flags().Lookup("rename").DefValue = "" // not []
	c.Flags().BoolVar(&f.controlsAfter, "controls-after", false,
		"u[t] acts between steps t and t+1, not t-1 and t")
	c.Flags().IntVar(&f.cut, "cut", 0, "cut long recordings into episodes of this many steps")
	c.Flags().Float64Var(&f.dt, "dt", 0, "time between two steps, if the files do not say")
	c.Flags().Int64Var(&f.limit, "limit", files.DefaultLimit, "most bytes of data to hold in memory")
	for _, name := range []string{"observe", "control", "label", "time", "id"} {
		c.RegisterFlagCompletionFunc(name, completeColumns(true))
	}
	c.RegisterFlagCompletionFunc("rename", completeRenames)
}

// options are the flags as package files takes them. Episodes of one step, a negative time and an unknown order of
// dates are usage errors.
func (f *readFlags) options() (files.Options, error) {
	if f.cut < 0 || f.cut == 1 {
		return files.Options{}, config.Usagef("--cut %d: an episode has at least 2 steps", f.cut)
	}
	if !(f.dt >= 0) || math.IsInf(f.dt, 1) {
		return files.Options{}, config.Usagef("--dt %v: must be positive, and a number", f.dt)
	}
	if f.limit < 1 {
		return files.Options{}, config.Usagef("--limit %d: must be at least 1", f.limit)
	}
	if f.dates != "" && f.dates != files.DayFirst && f.dates != files.MonthFirst {
		return files.Options{}, config.Usagef("--dates %s: write %s or %s", f.dates, files.DayFirst, files.MonthFirst)
	}
	return files.Options{
		Observe: f.observe, Control: f.control, Label: f.label, Time: f.time, ID: f.id, Resample: f.resample,
		Dates: f.dates, Transform: f.transform, Truth: f.truth,
		Rename: f.rename, ControlsAfter: f.controlsAfter, Cut: f.cut, DT: f.dt, Limit: f.limit,
	}, nil
}

// readWords writes options as flags of a command line, for commands to copy; options at their defaults are left
// out. The same options give the same words.
func readWords(o files.Options) []string {
	var words []string
	for _, w := range []struct{ flag, value string }{
		{"--observe", strings.Join(o.Observe, ",")},
		{"--control", strings.Join(o.Control, ",")},
		{"--label", strings.Join(o.Label, ",")},
		{"--time", o.Time},
		{"--dates", o.Dates},
		{"--id", o.ID},
		{"--resample", o.Resample},
	} {
		if w.value != "" {
			words = append(words, w.flag, w.value)
		}
	}
	if len(o.Rename) > 0 {
		var pairs []string
		for _, from := range slices.Sorted(maps.Keys(o.Rename)) {
			pairs = append(pairs, from+"="+o.Rename[from])
		}
		words = append(words, "--rename", strings.Join(pairs, ","))
	}
	if o.ControlsAfter {
		words = append(words, "--controls-after")
	}
	if o.Cut > 0 {
		words = append(words, "--cut", fmt.Sprint(o.Cut))
	}
	if o.DT > 0 {
		words = append(words, "--dt", fmt.Sprint(o.DT))
	}
	return words
}

// guess reads files, and finds what is observed by names and values where the convention does not say it. It
// returns how the files were read, so that the guess can be shown as flags. Errors of the data are those of dataFault.
func (f *readFlags) guess(paths []string) (*files.Dataset, files.Options, error) {
	asked, err := f.options()
	if err != nil {
		return nil, asked, err
	}
	d, how, err := files.ReadGuessed(paths, asked)
	return d, how, dataFault(err)
}

// dataError prints a fault of a file without its remedy, which is printed as a hint.
type dataError struct{ fault *files.Error }

func (e dataError) Error() string { return e.fault.Message() }
func (e dataError) Unwrap() error { return e.fault }

// dataFault turns an error of reading or writing data into one of the command line: the remedy of a fault becomes
// its hint, and a file that does not exist is a usage error. nil stays nil.
func dataFault(err error) error {
	var fault *files.Error
	switch {
	case errors.As(err, &fault) && fault.Remedy != "":
		return config.Hint(dataError{fault}, "%s", fault.Remedy)
	case errors.Is(err, fs.ErrNotExist):
		return config.Usage(err)
	}
	return err
}

// dataConvertCommand is `data convert`: it writes trajectories in another format. Fewer than two arguments, an
// output of unknown format, and one that would replace an input or, without --force, any file are usage errors.
func (a *app) dataConvertCommand() *cobra.Command {
	var flags readFlags
	var out target
	c := &cobra.Command{
		Use:   "convert IN... OUT",
		Short: "Write trajectories in another format",
		Long: `Write trajectories as .npz, as .csv with a column episode, or as a folder (a name that
ends in /) with one CSV file per episode. Missing values, the split, states, labels,
dates and names of recordings are kept. Columns are read as data info and train read
them, by names and values where the flags do not say how; a note names those that are
left out. OUT is a new file or folder.`,
		Example: "  " + a.invoked + " data convert runs/ all.npz --controls-after\n  " +
			a.invoked + " data convert long.csv pieces.npz --cut 200 --rename speed=y_speed,force=u_force",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return config.Hint(config.Usagef("data convert takes at least 2 arguments, IN... OUT; got %d", len(args)),
					"%s --help says more", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			out.path = args[len(args)-1]
			return a.inspecting(args[:len(args)-1], func(in []string) error {
				if err := checkConversion(in, out); err != nil {
					return err
				}
				// As info and train read them: the episodes of a table with a column of names are not joined.
				d, _, err := flags.guess(in)
				if err != nil {
					return err
				}
				for _, note := range d.Notes {
					a.remark("note", note)
				}
				if d.TimeUnit != "" && !d.KeepsTimes(isNPZ(out.path)) {
					a.remark("note", "the times are not kept: those of the output count from 0")
					d.TimeUnit = "" // so that the hash is that of data without dates
				}
				if err := a.writeData(d, out.path); err != nil {
					return err
				}
				return a.wrote(d, out.path)
			})
		},
	}
	flags.add(c, false)
	out.addForce(c)
	a.jsonFlag(c)
	return c
}

// checkConversion refuses an output that would overwrite a file, or that is one of the inputs.
func checkConversion(in []string, out target) error {
	read, err := files.Paths(in)
	if err != nil {
		return dataFault(err)
	}
	return out.check(read)
}
