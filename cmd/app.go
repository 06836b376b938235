package cmd

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lab/fault"
	"github.com/switchyard-ml/switchyard/lead"
)

// app is what all commands share: the environment of the process and the global flags. Main makes the only one of a
// process. Tests make their own, so that commands are run without a process: nothing in this package reads os.Args,
// os.Environ, os.Stdin or os.Stdout.
type app struct {
	kinds    *config.Kinds // the kinds that a configuration may name
	out, err io.Writer     // out: results; err: logs, progress and errors
	in       io.Reader     // what is typed or piped in
	environ  []string      // NAME=value
	// What asks the process to end: an interrupt from the keyboard, SIGTERM, the end of its terminal, or that of the
	// program which reads its output. Only endable receives from it.
	signals <-chan os.Signal
	invoked string // what the user typed to start this program
	// Threads that Go runs at once: the default of --workers and --threads.
	cores    int
	terminal bool       // err is a terminal
	width    func() int // of the terminal; nil: unknown

	// The global flags, which rootCommand defines. They have their values when the function of a command is called.
	runsDir   string
	verbose   bool
	quiet     bool
	noColor   bool
	logFormat string
	asJSON    bool // --json of the command

	leftovers leftovers // of work that may be ended at any time
	watch     watch     // hands signals to the work under way
}

// Environment variables that are not keys of the configuration.
const (
	isaVariable     = config.Prefix + "ISA"      // instruction set of the kernels
	runsDirVariable = config.Prefix + "RUNS_DIR" // default of --runs-dir
)

// getenv returns the value of an environment variable, or "" if it is not set. If environ has the name more than
// once, the last one counts.
func (a *app) getenv(name string) string {
	for _, v := range slices.Backward(a.environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// settings are the environment variables that may set keys of the configuration, as NAME=value: those with the
// prefix of Switchyard, without those that are the defaults of flags. Resolve reports a name among them that
// resembles a key.
func (a *app) settings() []string {
	others := append(connectVariables(), isaVariable, runsDirVariable, fault.Variable)
	return slices.DeleteFunc(slices.Clone(a.environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !strings.HasPrefix(name, config.Prefix) || slices.Contains(others, name)
	})
}

// useKernels chooses the instruction set that $SWITCHYARD_ISA names; without the variable it stays with the best
// one of the processor. A name that does not exist, or that this processor lacks, is a usage error.
func (a *app) useKernels() error {
	name := a.getenv(isaVariable)
	if name == "" {
		return nil
	}
	isa, err := kernel.ParseISA(name)
	if err == nil {
		err = kernel.Use(isa)
	}
	if err != nil {
		return config.Usagef("%s=%s: %w", isaVariable, name, err)
	}
	return nil
}

// screen makes the place on stderr for progress and log lines. It repaints its status in place only on a terminal
// that obeys escape sequences and outside of continuous integration ($CI), where nobody watches it. With --quiet or
// a log of JSON records it has no status at all.
func (a *app) screen() *terminal.Screen {
	return terminal.NewScreen(a.err, terminal.Options{
		Terminal: a.terminal && a.getenv("TERM") != "dumb" && a.getenv("CI") == "",
		Width:    a.width,
		Quiet:    a.quiet || a.logFormat == "json",
	})
}

// logger returns a log that writes lines of the given level and above to a writer; --verbose lowers the level to
// debug, --quiet raises it to warnings. Its lines have a colour only if stderr is a terminal and neither --no-color
// nor $NO_COLOR asks for none.
func (a *app) logger(to io.Writer, level hclog.Level) hclog.Logger {
	switch {
	case a.verbose:
		level = hclog.Debug
	case a.quiet:
		level = hclog.Warn
	}
	color := hclog.ColorOff
	if a.terminal && !a.noColor && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb" {
		color = hclog.ForceColor
	}
	return hclog.New(&hclog.LoggerOptions{
		Output: to, Level: level, Color: color, ColorHeaderOnly: true, JSONFormat: a.logFormat == "json",
		TimeFormat: a.timeFormat(),
	})
}

// timeFormat is the format of times in the log. A log that is not a terminal may be read on another day, so it has
// dates; a program may read JSON in another time zone, so that has zones.
func (a *app) timeFormat() string {
	switch {
	case a.logFormat == "json":
		return "2006-01-02T15:04:05.000Z07:00"
	case a.terminal:
		return time.TimeOnly
	}
	return time.DateTime
}

// command is a command line for this program, as the user would type it here, for hints and lists of what to do
// next. It repeats --runs-dir if the folder is not the one that the program would use by itself.
func (a *app) command(arguments ...string) string {
	words := slices.Clone(arguments)
	if a.runsDir != a.defaultRunsDir() {
		words = append(words, "--runs-dir", a.runsDir)
	}
	return a.line(words...)
}

// aboutSweeps is a command line about the sweeps of a folder. It names the folder if it is not the usual one, or if the
// command would ask a coordinator.
func (a *app) aboutSweeps(dir string, arguments ...string) string {
	words := slices.Clone(arguments)
	if dir != usualSweeps || a.getenv(natsVariable) != "" {
		words = append(words, "--sweeps-dir", dir)
	}
	return a.line(words...)
}

// linesAbout makes command lines about the sweeps of a folder.
func (a *app) linesAbout(dir string) config.Command {
	return func(words ...string) string { return a.aboutSweeps(dir, words...) }
}

// line is a command line for this program in which a shell finds these words.
func (a *app) line(words ...string) string {
	list := []string{a.invoked} // one word or several, as the user typed them
	for _, w := range words {
		list = append(list, terminal.Quoted(w))
	}
	return strings.Join(list, " ")
}

// defaultRunsDir is the folder of the runs where --runs-dir is not given: $SWITCHYARD_RUNS_DIR, or runs.
func (a *app) defaultRunsDir() string {
	if dir := a.getenv(runsDirVariable); dir != "" {
		return dir
	}
	return "runs"
}

// invocation is what a user types to start the program at path. After `go run` there is no program left, so the answer
// is `go run` with the path of the package in its module.
func invocation(path string, built *debug.BuildInfo) string {
	if !strings.Contains(path, string(filepath.Separator)+"go-build") {
		return terminal.Quoted(path)
	}
	return "go run ." + strings.TrimPrefix(built.Path, built.Main.Path)
}

// readFiles reads configuration files. One that cannot be read is a usage error. The name of each file is its path,
// with which the problems of the configuration begin.
func readFiles(paths []string) ([]config.File, error) {
	var files []config.File
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, config.Usagef("read the configuration: %w", err)
		}
		files = append(files, config.File{Name: path, Data: data})
	}
	return files, nil
}

// printf writes text for people to the output of results. Its error says that the output does not take it: a full
// disk, or a pipe that nobody reads any more.
func (a *app) printf(format string, args ...any) error {
	if _, err := fmt.Fprintf(a.out, format, args...); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// progress returns a function that shows the progress of a run: in the status line of the screen, or as records if the
// log has records.
func (a *app) progress(screen *terminal.Screen, log hclog.Logger) func(terminal.Progress) {
	if a.logFormat == "json" {
		return lead.NewProgressLog(log).Show
	}
	return func(p terminal.Progress) {
		screen.Status(p.Line(lineWidth(screen)))
	}
}

// lineWidth is the width of a terminal; 0, which is no limit, for another screen.
func lineWidth(screen *terminal.Screen) int {
	if !screen.Terminal() {
		return 0
	}
	return screen.Width()
}

// introduce prints the plan of what begins: as lines on the screen, or as one record if the log has records. With
// --quiet nothing is printed.
func (a *app) introduce(plan terminal.Facts, screen *terminal.Screen) error {
	switch {
	case a.quiet:
		return nil
	case a.logFormat != "json":
		return plan.Write(screen)
	}
	texts := plan.Map()
	var fields []any
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fields = append(fields, name, texts[name])
	}
	a.logger(screen, hclog.Info).Info("plan", fields...)
	return nil
}
