package cmd

import (
	"fmt"
	"io"
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
	"github.com/switchyard-ml/switchyard/lead/job"
)

// app is what all commands share: the environment of the process and the global flags.
type app struct {
	kinds    *config.Kinds // the kinds that a configuration may name
	out, err io.Writer     // out: results; err: logs, progress and errors
	in       io.Reader     // what is typed or piped in
	environ  []string      // NAME=value
	signals  <-chan os.Signal
	invoked  string // what the user typed to start this program
	cores    int
	terminal bool       // err is a terminal
	width    func() int // of the terminal; nil: unknown

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

func (a *app) getenv(name string) string {
	for _, v := range slices.Backward(a.environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// settings are the environment variables that may set keys of the configuration.
func (a *app) settings() []string {
	others := append(connectVariables(), isaVariable, runsDirVariable, fault.Variable)
	return slices.DeleteFunc(slices.Clone(a.environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !strings.HasPrefix(name, config.Prefix) || slices.Contains(others, name)
	})
}

// useKernels chooses the instruction set that the environment asks for.
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

// screen is the place for progress and log lines.
func (a *app) screen() *terminal.Screen {
	return terminal.NewScreen(a.err, terminal.Options{
		Terminal: a.terminal && a.getenv("TERM") != "dumb" && a.getenv("CI") == "",
		Width:    a.width,
		Quiet:    a.quiet || a.logFormat == "json",
	})
}

// logger returns a log that writes lines of the given level and above; --verbose and --quiet change the level.
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

// command is a command line for this program, as the user would type it here.
func (a *app) command(arguments ...string) string {
	words := append([]string{a.invoked}, arguments...)
	if a.runsDir != a.defaultRunsDir() {
		words = append(words, "--runs-dir", a.runsDir)
	}
	return strings.Join(words, " ")
}

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
		return path
	}
	return "go run ." + strings.TrimPrefix(built.Path, built.Main.Path)
}

// readFiles reads configuration files.
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

// introduce prints the plan of a run before it begins.
func (a *app) introduce(p *job.Plan, flags trainFlags, folder string, screen *terminal.Screen, log hclog.Logger) error {
	facts := p.Facts(flags.here(folder))
	if a.logFormat != "json" {
		if a.quiet {
			return nil
		}
		return facts.Write(screen)
	}
	var fields []any
	for _, f := range facts {
		fields = append(fields, f[0], f[1])
	}
	log.Info("plan", fields...)
	return nil
}
