package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/trained"
	"github.com/switchyard-ml/switchyard/web"
)

// The way of a run: its configuration is resolved, planned by package job, given a broker and a page (training) and
// a folder (create), led to its end (lead) and evaluated (report). resume joins at training, with a checkpoint.

// trainCommand is `train`: it trains a new run in this process and evaluates it.
func (a *app) trainCommand() *cobra.Command {
	var flags trainFlags
	var name string
	var dry bool
	c := &cobra.Command{
		Use:   "train PRESET|FILE.yaml [key=value]...",
		Short: "Train a model on this machine, with an embedded broker",
		Long: `Train a model on this machine, with a coordinator, workers and a NATS server in one
process. Ctrl-C finishes the current step and writes a checkpoint, from which resume
continues to the same bits.

Presets:
` + presetList(),
		Example: "  " + a.invoked + " train fhn\n  " + a.invoked + " train fhn/smoke model.switching=normal --workers 4 " +
			"--name try\n" +
			"  " + a.invoked + " train my.yaml optim.rate=1e-3",
		Args:              atLeastOne("PRESET or FILE.yaml"),
		ValidArgsFunction: a.completeConfig,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.train(args, name, dry, flags)
		},
	}
	flags.add(c, a.cores)
	flags.addPage(c)
	a.jsonFlag(c)
	c.Flags().StringVar(&name, "name", "", "name of the run (default: made from preset and model)")
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would be done, and do nothing")
	return c
}

// presetList lists the presets with their titles, a line each, for help texts.
func presetList() string {
	var b strings.Builder
	width := 0
	for _, p := range config.Presets() {
		width = max(width, len(p.Name))
	}
	for _, p := range config.Presets() {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, p.Name, p.Title)
	}
	return b.String()
}

// train makes a run of the configuration that args name and leads it to its end. Faults of the flags and of the
// configuration are usage errors, and so is a name that another run has. With --dry-run it prints the plan and the
// configuration and writes nothing.
func (a *app) train(args []string, name string, dry bool, flags trainFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	resolved, overrides, err := a.resolveRun("train", args)
	if err != nil {
		return err
	}
	p, err := job.Prepare(resolved.Config, nil, flags.slots)
	if err != nil {
		return err
	}
	if dry && a.asJSON {
		return a.printJSON(runPlan{p.Facts(flags.here("")).Map(), resolved.Config.Map()})
	}
	if dry {
		if err := p.Facts(flags.here("")).Write(a.out); err != nil {
			return err
		}
		return a.printYAML("\n" + string(resolved.Annotated()))
	}
	// The order matters: an address in use must not leave the folder of a run behind.
	t, err := a.training(p, flags, nil)
	if err != nil {
		return err
	}
	run, err := a.create(t, name, args, overrides)
	if err != nil {
		t.close()
		return err
	}
	return a.lead(t, run)
}

// create makes the folder of a new run. A name that is taken is store.ErrOccupied, a usage error, with the hint to
// continue that run; the error of a full disk says how to make room.
func (a *app) create(t *training, name string, args, overrides []string) (*store.Run, error) {
	p := t.session.Plan
	run, err := p.MakeRun(a.runsDir, job.Origin{
		Name: name, Overrides: overrides,
		Command: append([]string{"train"}, args...),
	})
	if errors.Is(err, store.ErrOccupied) {
		return nil, config.Hint(err, "continue it with `%s`, or choose another --name", a.command("resume", name))
	}
	if err != nil {
		return nil, lead.DiskHint(err, nil, a.command)
	}
	return run, nil
}

// training is a run that this process leads, on its screen. It owns what it opened; lead or close closes it.
type training struct {
	// What is trained, by whom and over which broker; Train closes its transport.
	session *lead.Session
	flags   trainFlags
	screen  *terminal.Screen
	page    *trainPage // nil: none
}

// close gives back what was opened for a training that does not begin.
func (t *training) close() {
	t.session.Transport.Close()
	if t.page != nil {
		_ = t.page.server.Close() // nobody has used it
	}
}

// training prepares to lead a run of a plan, from a checkpoint or, if that is nil, from the initial parameters. It
// starts the broker and the page, so that an address in use is reported before the folder of the run is made. The
// caller calls lead or close.
func (a *app) training(p *job.Plan, flags trainFlags, from *checkpoint.Checkpoint) (*training, error) {
	screen := a.screen()
	log := a.logger(screen, hclog.Info)
	transport, err := brokerFlags{listen: flags.listen, keys: flags.keys, join: flags.join}.transport(log,
		a.invoked+" init")
	if err != nil {
		return nil, err
	}
	t := &training{
		session: &lead.Session{
			Plan: p, Transport: transport, From: from, Workers: flags.workers, Slots: flags.slots,
			RunsDir: a.runsDir, Events: flags.events, Memory: flags.share.host(),
			Log: log, WorkerLog: a.logger(screen, hclog.Warn),
		},
		flags: flags, screen: screen,
	}
	if flags.page.listen == "" {
		return t, nil
	}
	t.page = &trainPage{Folder: web.Folder(a.runsDir)}
	flags.page.model = a.portrait
	if t.page.server, err = flags.page.open(t.page, a.runsDir, log); err != nil {
		transport.Close()
		return nil, err
	}
	if t.page.server == nil { // --web none
		t.page = nil
		return t, nil
	}
	t.flags.url = t.page.server.URL()
	return t, nil
}

// lead trains a run to its end, evaluates it and prints what to do next; with --json it prints one value, a
// trainedRun. After the first signal it finishes the step, writes a checkpoint and returns an error with exit code
// 3. It closes the run in any case but one: after a second signal the session may still use it.
func (a *app) lead(t *training, run *store.Run) error {
	s := t.session
	if err := a.introduce(s.Plan.Facts(t.flags.here(run.Folder())), t.screen); err != nil {
		t.close()
		return errors.Join(err, run.Close())
	}
	if t.page != nil {
		s.Opened = t.page.opened(run.Name())
	}
	began := time.Now()
	// From outside to inside: signals, the page, the session. Each ends the context of the next.
	err := a.untilSaved(t.screen, "finishing the step and writing a checkpoint", func(ctx context.Context) error {
		defer t.screen.Finish()
		return t.page.serve(ctx, func(ctx context.Context) error { return s.Train(ctx, run, a.progress(t.screen, s.Log)) })
	})
	if errors.Is(err, errAborted) {
		// The session still holds the run and may still write to it. The end of the process releases it.
		return config.Hint(fmt.Errorf("run %s: %w", run.Name(), err), "its checkpoints are intact: %s",
			a.command("resume", run.Name()))
	}
	if err := errors.Join(a.ended(run, err), run.Close()); err != nil {
		return err
	}
	// From here on the run is complete and closed. What fails below is its evaluation, which can be repeated.
	info := run.Info()
	if a.asJSON {
		// The evaluation prints what people would read; here only its numbers count.
		var e *trained.Evaluation
		err := a.silenced(func() error {
			var err error
			e, err = a.report(run, s.Plan)
			return err
		})
		if err != nil {
			return err
		}
		return a.printJSON(trainedRun{info, e.JSON()})
	}
	if err := a.printf("trained  %s: %s steps in %s, params_sha256 %s\n",
		run.Folder(), terminal.Group(info.Step), terminal.Short(time.Since(began)), info.ParametersSHA256); err != nil {
		return err
	}
	if early := info.Early(); early != "" {
		if err := a.printf("ended    %s\n", early); err != nil {
			return err
		}
	}
	if moved := info.Metrics["bytes_per_worker"]; moved > 0 {
		if err := a.printf("traffic  %s to and from each worker per step\n", terminal.Bytes(int64(moved))); err != nil {
			return err
		}
	}
	_, err = a.report(run, s.Plan)
	return err
}

// runPlan is what train --dry-run --json prints.
type runPlan struct {
	Plan   map[string]string `json:"plan"`
	Config map[string]string `json:"config"`
}

// trainedRun is what train --json prints when the run has ended: run.json and, where there is one, the evaluation.
type trainedRun struct {
	store.Info
	Evaluation json.RawMessage `json:"evaluation,omitempty"`
}

// ended records how a run ended, and returns the error with a hint how to continue it. It does not close the run.
func (a *app) ended(run *store.Run, err error) error {
	recorded := lead.End(run, err)
	if errors.Is(err, syscall.ENOSPC) {
		recorded = nil // both messages come from the same full disk
	}
	if errors.Is(err, coordinator.ErrInterrupted) {
		err = config.Hint(interrupted{run.Name(), run.Info().Checkpoint}, "continue with: %s",
			a.command("resume", run.Name()))
	}
	return errors.Join(lead.DiskHint(a.bitsHint(err, run), run, a.command), lead.DiskHint(recorded, run, a.command))
}

// bitsHint adds a hint to an error about a run that did not reproduce the bits of its log or its checkpoint.
func (a *app) bitsHint(err error, run *store.Run) error {
	switch {
	case errors.Is(err, coordinator.ErrReplay):
		return config.Hint(err, "check what this machine computes and whose results differ: %s",
			a.command("verify", run.Name()))
	case errors.Is(err, coordinator.ErrMismatch):
		return config.Hint(err, "the configuration or the data of the run have changed: restore %s, or start a new "+
			"run", run.Path("config.yaml"))
	}
	return err
}

// interrupted is the error for a run that the user stopped.
type interrupted struct {
	run  string
	step uint64
}

func (e interrupted) Error() string {
	return fmt.Sprintf("run %s is interrupted, with a checkpoint of step %s", e.run, terminal.Group(e.step))
}

func (interrupted) Unwrap() error { return coordinator.ErrInterrupted }

// origin is the first argument of a command that trains the same again: the preset, or the configuration of the run if
// it differs from its preset.
func (a *app) origin(run *store.Run, p *job.Plan) string {
	preset, err := a.kinds.Resolve(config.Sources{Preset: p.Config.Preset})
	if err == nil && preset.Config.Equal(p.Config) {
		return p.Config.Preset
	}
	return run.Path("config.yaml")
}

// learningPreset is the preset that a smoke preset is a tiny version of; empty: there is none.
func learningPreset(preset string) string {
	// Only a preset of the same name without the suffix counts: not every smoke preset has one.
	base, smoke := strings.CutSuffix(preset, "/smoke")
	if smoke && slices.ContainsFunc(config.Presets(), func(p config.Preset) bool { return p.Name == base }) {
		return base
	}
	return ""
}

// report evaluates a finished run, prints the results and suggests what to do next. The evaluation is nil where none is
// usual.
func (a *app) report(run *store.Run, p *job.Plan) (e *trained.Evaluation, err error) {
	// The commands to suggest; which they are depends on the data and on how good the model is.
	next := [][]string{{"runs", "show", run.Name()}}
	learns := learningPreset(p.Config.Preset)
	if trained.Usual(p.Config) {
		err := a.untilSignal(a.err, "ending the evaluation", func(context.Context) error {
			var err error
			e, err = a.evaluateRun(run.Name(), trained.Best, eval.Question{})
			return err
		})
		if err != nil {
			err = fmt.Errorf("the run is trained, but its evaluation failed: %w", err)
			if errors.Is(err, eval.ErrOptions) { // it would fail again
				return nil, err
			}
			return nil, config.Hint(err, "try again with: %s", a.command("eval", run.Name()))
		}
		if err := errors.Join(a.printf("\n"), a.printEvaluation(e)); err != nil {
			return nil, err
		}
		if p.Data != nil {
			if err := a.showRegimes(run); err != nil {
				return nil, err
			}
			// Own data: what the model is good for, unless the last value predicts better.
			if next = a.usesOf(p.Config, run.Name(), p.Data.Dataset().Images()); behindPersistence(e.Numbers) {
				next = a.insteadOf(p.Config, run.Name())
			}
			if p.Data.Dataset().Episodes[0].Modes != nil {
				next = append(next, []string{"eval", run.Name(), "--protocol", "segmentation"})
			}
		} else {
			next = append(next, []string{"eval", run.Name(), "--json"})
		}
	}
	next = append(next, []string{"serve"})
	for _, other := range config.Describe(p.Config).Others {
		next = append(next, []string{"train", a.origin(run, p), other})
	}
	if err := a.printf("\nnext\n"); err != nil {
		return nil, err
	}
	if learns != "" {
		err := a.printf("  %s  # learns; %s only shows that everything works\n", a.command("train", learns), p.Config.Preset)
		if err != nil {
			return nil, err
		}
	}
	for _, words := range next {
		if err := a.printf("  %s\n", a.command(words...)); err != nil {
			return nil, err
		}
	}
	return e, nil
}
