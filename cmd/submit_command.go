package cmd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/web"
)

// submitFlags are the flags of the submit command.
type submitFlags struct {
	link  connection
	name  string
	wait  bool
	waits bool // no worker serves the run yet
}

// submitCommand is `submit`: it gives a run to a coordinator.
func (a *app) submitCommand() *cobra.Command {
	var flags submitFlags
	c := &cobra.Command{
		Use:   "submit PRESET|FILE.yaml [key=value]...",
		Short: "Submit a run to a coordinator",
		Long: `Submit a run to the coordinator at a broker. The configuration is resolved here, with
the files and environment variables of this machine; your own data are uploaded to the
coordinator. If a run with the same --name and configuration exists, it is continued if
it was stopped and left alone otherwise, so submitting twice is safe.

Presets:
` + presetList(),
		Example: "  " + a.invoked + " submit fhn --nats nats://10.0.0.7:4222\n" +
			"  " + a.invoked + " submit maze/quick seed=2 --name second --wait",
		Args:              atLeastOne("PRESET or FILE.yaml"),
		ValidArgsFunction: a.completeConfig,
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.link.check(c); err != nil {
				return err
			}
			return a.submit(args, flags)
		},
	}
	flags.link.add(c, a)
	c.Flags().StringVar(&flags.name, "name", "", "name of the run (default: made from preset and model)")
	c.Flags().BoolVar(&flags.wait, "wait", false, "follow the run to its end, and exit with its result")
	a.jsonFlag(c)
	return c
}

// submit resolves the configuration here, uploads the data that it names, and submits the run. The request has a
// random name, by which the coordinator recognises one that is sent twice. With --wait it follows the run to its
// end.
func (a *app) submit(args []string, flags submitFlags) error {
	resolved, overrides, err := a.resolveRun("submit", args)
	if err != nil {
		return err
	}
	p, err := job.Prepare(resolved.Config, nil, 1) // reports the same problems as train
	if err != nil {
		return err
	}
	s := ops.Submission{
		Request: rand.Text(), Name: flags.name, Config: string(p.Config.YAML()), Overrides: overrides,
		Command: append([]string{"submit"}, args...),
	}
	ending := "stopping"
	if flags.wait {
		ending = "not waiting any more; what the coordinator has accepted continues"
	}
	return a.askUntil(flags.link, ending, func(ctx context.Context, client *ops.Client) error {
		// The data come first: without them the coordinator could not prepare the run.
		if data := p.Data; data != nil {
			if s.Normalisation, err = data.Normalisation(); err != nil {
				return err
			}
			if err := a.upload(ctx, client, data.Encoded); err != nil {
				return err
			}
		}
		limited, cancel := context.WithTimeout(ctx, openLimit)
		defer cancel()
		// To open a run on large data takes a while, which should not look like a hang.
		patience := time.AfterFunc(patientFor, func() {
			a.logger(a.err, hclog.Warn).Warn("the coordinator has not answered yet", "waiting_up_to", openLimit.String())
		})
		result, err := client.Submit(limited, s)
		patience.Stop()
		if err != nil {
			return err
		}
		if result.State == ops.Started && !a.asJSON && a.waits(ctx, client, result.Name) {
			flags.waits = true
		}
		if err := a.submitted(flags, result); err != nil || !flags.wait {
			return err
		}
		return a.follow(ctx, client, flags.link, result.Name)
	})
}

// upload brings a data set to the coordinator, with its progress on the screen. What the coordinator has already is
// not sent again.
func (a *app) upload(ctx context.Context, client *ops.Client, data []byte) error {
	screen := a.screen()
	defer screen.Finish()
	return client.Upload(ctx, data, func(have int64) {
		screen.Status(fmt.Sprintf("data set  %s of %s at the coordinator", terminal.Bytes(have),
			terminal.Bytes(int64(len(data)))))
	})
}

// submitted prints the state of a submitted run and how to follow it.
func (a *app) submitted(flags submitFlags, s ops.Submitted) error {
	if a.asJSON && flags.wait {
		return nil // what follow prints is the result
	}
	if a.asJSON {
		return a.printJSON(s)
	}
	text := map[ops.State]string{
		ops.Started: "is started", ops.Resumed: "is continued", ops.Running: "is already running",
		ops.Finished: "is finished already",
	}
	if flags.waits {
		text[ops.Started] = "is accepted, and waits for a worker"
	}
	if err := a.printf("submitted  %s: it %s\n", s.Name, text[s.State]); err != nil || flags.wait {
		return err
	}
	next := "\nnext\n  " + a.remotely(flags.link, "runs", "show", s.Name) + "\n"
	if s.State != ops.Finished {
		next += "  " + a.remotely(flags.link, "runs", "stop", s.Name) + "\n"
	}
	return a.printf("%s", next)
}

// A run that no worker serves within so many queries, which take two seconds, waits for one.
const (
	waitQueries  = 8
	waitInterval = 250 * time.Millisecond
)

// waits reports whether a run that was just submitted finds no worker.
func (a *app) waits(ctx context.Context, client *ops.Client, name string) bool {
	for range waitQueries {
		r, err := showRun(ctx, client, name)
		if err != nil || r.Live == nil && r.State != store.Running || r.Live != nil && len(r.Live.Workers) > 0 {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(waitInterval):
		}
	}
	return true
}

// patientFor is how long the command waits in silence while the coordinator opens a run.
const patientFor = 5 * time.Second

// followInterval is the time between two queries for a run that is followed.
const followInterval = time.Second

// follow shows the progress of a run until it has ended, and returns how it ended. If the coordinator does not
// answer, follow keeps asking; if it answers with an error, follow returns that. A signal ends the command, not the
// run.
func (a *app) follow(ctx context.Context, client *ops.Client, link connection, name string) error {
	screen := a.screen()
	defer screen.Finish()
	var meter terminal.Meter
	for {
		r, err := showRun(ctx, client, name)
		var e *ops.Error
		switch {
		case ctx.Err() != nil:
			return config.Hint(fmt.Errorf("not waiting for run %s any more; it continues", name), "look after it with: %s",
				a.remotely(link, "runs", "show", name))
		// The coordinator has answered that it cannot: to ask again would not help.
		case errors.As(err, &e):
			return err
		case err != nil:
			screen.Status(fmt.Sprintf("run %s: no coordinator answers; waiting", name))
		default:
			meter.Add(time.Now(), r.Step)
			screen.Status(progressOf(r, meter.Rate()).Line(lineWidth(screen)))
			if over, err := a.outcome(r, link); over {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(followInterval):
		}
	}
}

// outcome reports whether a run has ended for good, and how. A run that was interrupted by the end of its coordinator
// has not: it continues when the coordinator is started again. One that the coordinator could not continue then has.
func (a *app) outcome(r web.Run, link connection) (over bool, err error) {
	const again = "when the reason is removed, submit it again under its name: it continues from its last checkpoint"
	switch {
	case r.State == store.Finished:
		return true, a.result(r.Info, func() error {
			return a.printf("trained  %s: %s steps, params_sha256 %s\n", r.Name, terminal.Group(r.Step), r.ParametersSHA256)
		})
	case r.State == store.Failed:
		return true, config.Hint(fmt.Errorf("run %s failed at step %s: %s", r.Name, terminal.Group(r.Step), r.ExitReason),
			again)
	case r.State == store.Interrupted && r.Stopped:
		return true, config.Hint(fmt.Errorf("%w: %w", interrupted{r.Name, r.Checkpoint}, coordinator.ErrInterrupted),
			"continue with: submit the same configuration with --name %s", r.Name)
	case r.State == store.Interrupted && r.Live == nil && r.ExitReason != lead.Shutdown, r.State == store.Damaged:
		return true, config.Hint(fmt.Errorf("run %s cannot continue: %s", r.Name, r.ExitReason), again)
	}
	return false, nil
}

// showRun asks for a run and for what its coordinator knows of it.
func showRun(ctx context.Context, client *ops.Client, name string) (web.Run, error) {
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	answer, err := client.Run(limited, name)
	if err != nil {
		return web.Run{}, err
	}
	return pageRun(answer)
}

// pageRun is a run in the form that the page shows.
func pageRun(answer ops.Run) (web.Run, error) {
	r := web.Run{Info: answer.Info}
	if len(answer.Live) == 0 {
		return r, nil
	}
	r.Live = new(web.Live)
	if err := json.Unmarshal(answer.Live, r.Live); err != nil {
		return r, fmt.Errorf("read the state of run %s: %w", r.Name, err)
	}
	return r, nil
}

// progressOf is the status line for a run of another process.
func progressOf(r web.Run, rate float64) terminal.Progress {
	p := terminal.Progress{Step: r.Step, Steps: r.Steps, StepRate: rate}
	if best, ok := r.Metrics["best_validation_objective"]; ok {
		p.Best, p.BestStep = best, uint64(r.Metrics["best_step"])
	}
	switch {
	case r.Live != nil:
		p.Workers, p.Note = len(r.Live.Workers), r.Live.Waiting
	default:
		p.Note = string(r.State)
	}
	return p
}
