package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/trained"
)

// resumeCommand is `resume`: it continues a run of the local folder from its newest valid checkpoint.
func (a *app) resumeCommand() *cobra.Command {
	var flags trainFlags
	c := &cobra.Command{
		Use:   "resume NAME",
		Short: "Continue a run from its newest valid checkpoint",
		Long: `Continue a run from its newest valid checkpoint, with the configuration it was started
with. The parameters end up the same, bit for bit, as without the interruption.`,
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := flags.check(); err != nil {
				return err
			}
			return a.resume(args[0], flags)
		},
	}
	flags.add(c, a.cores)
	flags.addPage(c)
	a.jsonFlag(c)
	return c
}

// resume continues a run as train leads a new one. A run that has made its last step is no error: it is printed
// with what to do next. A name without a run, and a run that another process holds, are usage errors. Damaged
// checkpoints are skipped with a warning.
func (a *app) resume(name string, flags trainFlags) error {
	place := lead.Place{Kinds: a.kinds, RunsDir: a.runsDir, Command: a.command}
	r, err := lead.Reopen(place, name, flags.slots)
	if errors.Is(err, lead.ErrFinished) {
		info, loadErr := store.Load(a.runsDir, name)
		if loadErr != nil {
			return loadErr
		}
		return a.result(trainedRun{Info: info}, func() error {
			return a.printf("%s\n\nnext\n  %s\n", err,
				a.command("eval", name))
		})
	}
	if err != nil {
		return a.missingRun(err)
	}
	for _, s := range r.Skipped {
		a.remark("warning", fmt.Sprint("skipped: ", s))
	}
	// Reopen holds the run, so that every way out from here closes it; lead does it at the end.
	t, err := a.training(r.Plan, flags, r.From)
	if err != nil {
		return errors.Join(err, r.Run.Close())
	}
	// The run is recorded as running only once the broker and the page have their addresses.
	if err := r.Begin(); err != nil {
		t.close()
		return errors.Join(lead.DiskHint(err, r.Run, a.command), r.Run.Close())
	}
	return a.lead(t, r.Run)
}

// mostRegimeSteps is how many steps of recordings are divided into regimes when a run ends; segment divides more.
// The first recording is divided whole, whatever its length.
const mostRegimeSteps = 20000

// showRegimes divides the recordings of a finished run on own data into regimes, prints how long they last and how the
// system moves in each, and writes tables/segments.csv and, unless they are images, figures/regimes.png. Families
// without regimes show nothing.
func (a *app) showRegimes(run *store.Run) error {
	open, err := a.open(run.Name(), trained.Best)
	if err != nil {
		return err
	}
	list, columns, err := open.Select(trained.Selection{})
	if err != nil {
		return err
	}
	steps := 0
	for i, r := range list {
		if steps += len(r.Observations); steps > mostRegimeSteps && i > 0 {
			list = list[:i]
			break
		}
	}
	y, err := open.SegmentAll(list, columns, 0)
	if errors.Is(err, trained.ErrUnable) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(a.printf("\n"), y.WriteText(a.out)); err != nil {
		return err
	}
	paths := []string{run.Path("figures", "regimes.png"), run.Path("tables", "segments.csv")}
	if y.Figure == nil {
		paths = paths[1:]
	}
	for _, path := range paths {
		if err := a.replaceFile(path, func(w io.Writer) error { return y.Write(w, path) }); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		if err := a.printf("regimes  %s\n", path); err != nil {
			return err
		}
	}
	return nil
}

// behindPersistence reports whether a model of recordings predicts them worse, in the mean over all horizons, than
// the last value. It is false if persistence was not measured.
func behindPersistence(n eval.Numbers) bool {
	sum, horizons := 0.0, 0.0
	for k := 1; ; k++ {
		v, ok := n[eval.Name("mase_persistence", k)]
		if !ok {
			break
		}
		sum, horizons = sum+v, horizons+1
	}
	return horizons > 0 && n.Get("mase_mean") > sum/horizons
}

// insteadOf are commands to begin with where a model is worse than the last value: nothing uses such a model.
func (a *app) insteadOf(c config.Config, name string) [][]string {
	next := [][]string{{"backtest", name}, {"runs", "show", name}}
	if own, ok := c.Env.Settings.(*files.Settings); ok && own.Files != "" {
		next = append([][]string{append([]string{"fit"}, strings.Split(own.Files, ",")...)}, next...)
	}
	return next
}

// usesOf are commands that use a model that was trained on own data, which may be images.
func (a *app) usesOf(c config.Config, name string, images bool) [][]string {
	forecasts := name
	if own, ok := c.Env.Settings.(*files.Settings); ok && strings.Contains(own.Files, name+".") {
		forecasts += "-next" // the data are never replaced
	}
	out := forecasts + ".csv"
	if !images {
		out += "," + forecasts + ".png"
	}
	next := [][]string{
		{"forecast", name, "--out", out},
		{"export", name, "--format", "npz"},
	}
	if slices.Contains(trained.Exports.Families, c.Model.Kind) {
		next[1][3] = "onnx"
	}
	if slices.Contains(trained.Segments.Families, c.Model.Kind) {
		next = append(next, []string{"segment", name, "--out", name + "-regimes.npz"})
	}
	return append(next, []string{"backtest", name}, []string{"runs", "show", name})
}
