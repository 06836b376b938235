package cmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/eval/protocol"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store/checkpoint"

	"github.com/switchyard-ml/switchyard/trained"
)

// measurement says which evaluation is made, and with which checkpoint.
type measurement struct {
	protocol   string // empty: the first of the environment
	checkpoint string // best or last
	trained.MeasureOptions
}

// protocols lists the evaluations for a configuration.
func protocols(c config.Config) []protocol.Protocol {
	if c.Recorded() {
		return protocol.For(c.Env.Kind, nil)
	}
	env, err := config.Environment(c)
	if err != nil {
		return nil // a protocol needs one; what opens the run says why
	}
	return protocol.For(c.Env.Kind, env)
}

// find finds the evaluation that the user asked for.
func (m measurement) find(c config.Config) (protocol.Protocol, error) {
	known := protocols(c)
	if len(known) == 0 {
		return protocol.Protocol{}, config.Usagef("there is no evaluation protocol for env.kind=%s yet", c.Env.Kind)
	}
	var names []string
	for _, p := range known {
		if m.protocol == "" || m.protocol == p.Name {
			return p, m.fits(p)
		}
		names = append(names, p.Name)
	}
	return protocol.Protocol{}, config.Hint(config.Usagef("no protocol %q for env.kind=%s", m.protocol, c.Env.Kind),
		"it has %s", strings.Join(names, ", "))
}

// fits reports what is asked for that the protocol does not have.
func (m measurement) fits(p protocol.Protocol) error {
	switch {
	case m.Episodes < 0 || m.Prefix < 0:
		return config.Usagef("--episodes %d --prefix %d: they are at least 1", m.Episodes, m.Prefix)
	case m.AllStarts && !p.AllStarts:
		return config.Usagef("--all-starts: protocol %s predicts from one start in each episode", p.Name)
	case m.Episodes > 0 && p.Episodes == 0:
		return config.Usagef("--episodes: protocol %s measures the trajectories that training had", p.Name)
	case m.Prefix > 0 && !p.Prefixed:
		return config.Usagef("--prefix: protocol %s does not predict from a prefix of its own", p.Name)
	}
	return nil
}

// evaluateRun measures a run and writes the results into its folder.
func (a *app) evaluateRun(name string, how measurement) (*trained.Evaluation, error) {
	c, err := a.runConfig(name)
	if err != nil {
		return nil, err
	}
	p, err := how.find(c)
	if err != nil {
		if config.HintOf(err) == "" {
			err = config.Hint(err, "objective and bound on the validation set: %s", a.command("runs", "show", name))
		}
		return nil, err
	}
	run, err := a.openTrained(c, name, how.checkpoint)
	if err != nil {
		return nil, err
	}
	if how.Recordings, err = job.Recordings(c, run.Folder); err != nil {
		return nil, fmt.Errorf("evaluate run %s: %w", name, err)
	}
	how.Threads = a.cores
	return run.Measure(p, how.MeasureOptions)
}

// openTrained opens a checkpoint of a run and warns of damaged ones. If nothing was validated, the last checkpoint
// takes the place of the best one.
func (a *app) openTrained(c config.Config, name, which string) (*trained.Opened, error) {
	run, err := trained.Of(c, filepath.Join(a.runsDir, name), which)
	if which == checkpoint.Best && errors.Is(err, checkpoint.ErrNotFound) {
		run, err = trained.Of(c, filepath.Join(a.runsDir, name), checkpoint.Last)
	}
	for _, s := range run.Skipped {
		fmt.Fprintln(a.err, "warning: skipped:", s)
	}
	if err == nil {
		return run, nil
	}
	err = fmt.Errorf("evaluate run %s: %w", name, err)
	if which == checkpoint.Best {
		err = config.Hint(err, "the last checkpoint may do: %s", a.command("eval", name, "--checkpoint", checkpoint.Last))
	}
	return nil, err
}

// printEvaluation prints the table and the path of the figure.
func (a *app) printEvaluation(e *trained.Evaluation) error {
	figure := ""
	if e.Figure != "" {
		figure = "figure   " + e.Figure + "\n"
	}
	return a.printf("%s\n%s", e.Table, figure)
}

// usual reports whether a run is evaluated when it ends: that is so if a protocol is made for its environment.
func usual(c config.Config) bool {
	return slices.ContainsFunc(protocols(c), func(p protocol.Protocol) bool { return p.UsualFor(c.Env.Kind) })
}
