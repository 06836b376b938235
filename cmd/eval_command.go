package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/trained"
)

// evalCommand is `eval`: it evaluates a trained run by a protocol, writes table, JSON, CSV and figure into the
// folder of the run, and prints the table.
func (a *app) evalCommand() *cobra.Command {
	var list bool
	var f asking
	var q eval.Question
	c := &cobra.Command{
		Use:   "eval NAME",
		Short: "Evaluate a trained run by a protocol of the paper",
		Long: `Evaluate the model of a run and compare it with the paper, by the default protocol of its environment or
by --protocol; --list shows all that apply. Prints the table, and writes table, JSON, CSV and figure into
the run folder.`,
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			if list {
				if err := unused(c, "means nothing with --list: it evaluates nothing", "protocol", "episodes", "prefix", "truth",
					"all-starts", "fresh", "checkpoint"); err != nil {
					return err
				}
				return a.listProtocols(args[0])
			}
			e, err := a.evaluateRun(args[0], f.checkpoint, q)
			if e == nil {
				return err
			}
			if err != nil { // what cannot be kept is told all the same
				err = config.Hint(err, "the numbers are complete; to keep them, make the folder of the run writable, or evaluate "+
					"a copy of it")
			}
			if a.asJSON {
				return errors.Join(a.printRaw(string(e.Report)), err)
			}
			return errors.Join(a.printEvaluation(e), err)
		},
	}
	a.jsonFlag(c)
	c.Flags().BoolVar(&list, "list", false, "list the protocols that apply to the run, and evaluate nothing")
	c.Flags().StringVar(&q.Protocol, "protocol", "", "evaluation protocol (default: the usual one of the environment)")
	c.Flags().IntVar(&q.Episodes, "episodes", 0, "test episodes (default: set by the protocol)")
	c.Flags().IntVar(&q.Prefix, "prefix", 0, "steps seen before a prediction (default: set by the "+
		"protocol)")
	c.Flags().StringVar(&q.Truth, "truth", "", "`COLUMN` (or array) with the true regime of each step of your data, for "+
		"protocol segmentation (default z)")
	c.RegisterFlagCompletionFunc("truth", a.completeOwnColumns)
	c.Flags().BoolVar(&q.AllStarts, "all-starts", false, "also predict from every starting point in the held-out window")
	c.Flags().BoolVar(&q.Fresh, "fresh", false, "predict new trajectories instead of the held-out ends of the "+
		"training trajectories")
	f.addCheckpoint(c)
	c.RegisterFlagCompletionFunc("protocol", a.completeProtocols) // it fails for a flag that does not exist
	return c
}

// protocolLine is a protocol of eval --list --json.
type protocolLine struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Usual bool   `json:"usual"`
}

// listProtocols prints a line for each protocol that fits a run, the usual one first. It opens no checkpoint.
func (a *app) listProtocols(name string) error {
	c, err := a.runConfig(name)
	if err != nil {
		return err
	}
	if a.asJSON {
		lines := []protocolLine{}
		for _, p := range trained.Protocols(c) {
			lines = append(lines, protocolLine{p.Name, p.Doc, p.UsualFor(c.Env.Kind)})
		}
		return a.printJSON(lines)
	}
	for _, p := range trained.Protocols(c) {
		usual := ""
		if p.UsualFor(c.Env.Kind) {
			usual = " (usual)"
		}
		if err := a.printf("%-12s  %s%s\n", p.Name, p.Doc, usual); err != nil {
			return err
		}
	}
	return nil
}

// completeProtocols completes the protocols that fit the run, or all where it is not named yet.
func (a *app) completeProtocols(_ *cobra.Command, args []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective,
) {
	list := eval.Protocols()
	if len(args) > 0 {
		if c, err := a.runConfig(args[0]); err == nil {
			list = trained.Protocols(c)
		}
	}
	var words []cobra.Completion
	for _, p := range list {
		words = append(words, cobra.CompletionWithDesc(p.Name, p.Doc))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// evaluateRun measures a run at its best or last checkpoint on all cores, and writes the results into its folder. What
// was measured is returned even beside an error, if its files cannot be written. A protocol that the model cannot
// answer is a usage error.
func (a *app) evaluateRun(name, which string, q eval.Question) (*trained.Evaluation, error) {
	run, err := a.open(name, which)
	if err != nil {
		return nil, fmt.Errorf("evaluate run %s: %w", name, err)
	}
	q.Threads = a.cores
	e, err := run.Evaluate(q)
	// What else there is to know of such a run.
	if err != nil && config.HintOf(err) == "" && errors.Is(err, trained.ErrUnable) {
		err = config.Hint(err, "objective and bound on the validation set: %s", a.command("runs", "show", name))
	}
	return e, err
}

// printEvaluation prints the table and the path of the figure, if the protocol has one.
func (a *app) printEvaluation(e *trained.Evaluation) error {
	figure := ""
	if e.Figure != "" {
		figure = "figure   " + e.Figure + "\n"
	}
	return a.printf("%s\n%s", e.Table, figure)
}
