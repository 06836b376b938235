package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// A command is made by a method of app that returns a cobra.Command. Its flags are variables of that method; its
// function checks the arguments and calls a method that does the work and returns an error. Their doc comments say
// which errors are usage errors, with exit code 2.

// run executes the command line and returns the exit code. An error is printed once, here: commands return errors
// and do not print them.
func (a *app) run(arguments []string) int {
	root := a.rootCommand()
	root.SetArgs(arguments)
	root.SetOut(a.out)
	root.SetErr(a.err)
	addCompletion(root)
	addHelp(root)
	setWidth(root)
	err := a.endable(root.Execute)
	if err != nil && !errors.Is(err, errPipe) { // as other programs, which this signal ends in silence
		a.complain(err)
	}
	return exitCode(err)
}

// rootCommand is the program without a subcommand: it has the global flags, and checks them before any subcommand
// runs. An unknown format of the log and --quiet together with --verbose are usage errors. Cobra prints neither
// errors nor usage by itself; run does that.
func (a *app) rootCommand() *cobra.Command {
	root := group("switchyard", "Train switching linear dynamical systems on CPUs",
		`Switchyard trains switching linear dynamical systems with deep variational inference,
data-parallel on CPUs. Start with:

  `+a.invoked+` train fhn`)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if a.logFormat != "text" && a.logFormat != "json" {
			return config.Usagef("--log-format %s: must be text or json", a.logFormat)
		}
		if a.quiet && a.verbose {
			return config.Usagef("--quiet and --verbose cannot be combined")
		}
		return a.useKernels()
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.runsDir, "runs-dir", a.defaultRunsDir(), "folder of the runs")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log more")
	flags.BoolVar(&a.quiet, "quiet", false, "log warnings only, no progress")
	flags.StringVar(&a.logFormat, "log-format", "text", "text or json")
	flags.BoolVar(&a.noColor, "no-color", false, "no colours in the log")
	root.RegisterFlagCompletionFunc("log-format", completeWords([]string{"text", "json"}))
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		a.trainCommand(), a.resumeCommand(), a.sweepCommand(), a.evalCommand(),
		a.forecastCommand(), a.filterCommand(), a.smoothCommand(), a.segmentCommand(), a.simulateCommand(),
		a.linearizeCommand(), a.backtestCommand(), a.exportCommand(),
		a.paperCommand(), a.reportCommand(), a.verifyCommand(), a.diffCommand(), a.coordinatorCommand(), a.workerCommand(),
		a.submitCommand(),
		a.fitCommand(), a.runsCommand(), a.dataCommand(), a.configCommand(), a.benchCommand(), a.initCommand(),
		a.keysCommand(),
		a.banCommand(), a.unbanCommand(), a.brokerCommand(), a.chaosCommand(),
		a.serveCommand(), a.healthCommand(), a.doctorCommand(), a.versionCommand(), a.manCommand(),
	)
	return root
}

// setWidth makes help texts fit a terminal of usual width: prose is set anew, lists and flags are folded, and examples
// go on behind a backslash.
func setWidth(root *cobra.Command) {
	// Cobra's template has no parameter for the width of the flags, so the call in it is replaced.
	usage := strings.NewReplacer(".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", terminal.Columns))
	root.SetUsageTemplate(usage.Replace(root.UsageTemplate()))
	var fit func(c *cobra.Command)
	fit = func(c *cobra.Command) {
		c.Long = terminal.Fill(c.Long, terminal.Columns)
		lines := strings.Split(c.Example, "\n")
		for i, line := range lines {
			lines[i] = terminal.FoldCommand(line, terminal.Columns)
		}
		c.Example = strings.Join(lines, "\n")
		for _, sub := range c.Commands() {
			fit(sub)
		}
	}
	fit(root)
}

// addCompletion adds cobra's command for shell completion. It is created here because it keeps the output that the root
// has at that time. Cobra's own version accepts any argument; this one refuses unknown shells.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = subcommand, func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// addHelp adds cobra's command for help. Cobra's own version prints the help of the program for a command that there is
// not, and succeeds; this one refuses it.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Run, c.RunE = nil, func(_ *cobra.Command, args []string) error {
			at := root
			for _, word := range args {
				next, _, err := at.Find([]string{word})
				if err != nil || next == at {
					return subcommand(at, []string{word})
				}
				at = next
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		}
	}
}

// group is a command that only has subcommands. Without an argument it prints its help; for an unknown subcommand it
// suggests the nearest one.
func group(use, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: subcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
}

// subcommand returns an error for an argument that is not a subcommand of the group.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	// Hidden and deprecated commands, and help itself, are not suggested.
	var words []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			words = append(words, sub.Name())
		}
	}
	hint := "the commands are " + strings.Join(words, ", ")
	if near := setting.Nearest(args[0], words); near != "" {
		hint = "did you mean " + near + "?"
	}
	return config.Hint(config.Usagef("unknown command %q for %s", args[0], c.CommandPath()), "%s", hint)
}

// flagError turns an error of the flag parser into a usage error that suggests the nearest flag, or else tells how
// to list the flags.
func flagError(c *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	var words []string
	c.Flags().VisitAll(func(f *pflag.Flag) { words = append(words, f.Name) })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { words = append(words, f.Name) })
	near := setting.Nearest(name, words)
	if unknown && near != "" {
		return config.Hint(config.Usage(err), "did you mean --%s?", near)
	}
	var number *strconv.NumError
	if errors.As(err, &number) {
		before, _, _ := strings.Cut(err.Error(), "strconv.")
		err = fmt.Errorf("%s%q is no %s", before, number.Num, cmp.Or(numberKinds[number.Func], "number"))
		if errors.Is(number, strconv.ErrRange) {
			err = fmt.Errorf("%s%q is out of range", before, number.Num)
		}
	}
	return config.Hint(config.Usage(err), "%s --help lists the flags", c.CommandPath())
}

// numberKinds are what the functions of strconv read, by their names.
var numberKinds = map[string]string{
	"Atoi": "whole number", "ParseInt": "whole number", "ParseUint": "whole number of 0 or more",
	"ParseFloat": "number", "ParseBool": "true or false",
}

// exactly is cobra.ExactArgs with a usage error that names the arguments: exactly("A", "B") wants two, exactly()
// none.
func exactly(words ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(words) {
			return nil
		}
		want := "no arguments"
		if len(words) > 0 {
			want = terminal.Count(len(words), "argument") + ", " + strings.Join(words, " ")
		}
		return config.Hint(config.Usagef("%s takes %s; got %d", c.CommandPath(), want, len(args)),
			"%s --help says more", c.CommandPath())
	}
}

// versionCommand is `version`: it prints the version, the revision from which the program was built, Go, platform
// and the kernels in use; with --json the versions as they are kept with each run.
func (a *app) versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, its revision, and the kernels in use",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			revision := job.Revision()
			if revision == "" {
				revision = "unknown revision"
			}
			return a.result(job.Versions(), func() error {
				return a.printf("switchyard %s (%s), %s %s/%s, %s kernels\n",
					job.Version(), revision, runtime.Version(), runtime.GOOS, runtime.GOARCH, kernel.Active())
			})
		},
	}
	a.jsonFlag(c)
	return c
}
