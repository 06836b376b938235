package cmd

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// writeSeries writes a table of dates and a noisy wave.
func (c *cli) writeSeries(name string, steps int) string {
	var b strings.Builder
	b.WriteString("date,value\n")
	for i := range steps {
		fmt.Fprintf(&b, "%d-%02d-01,%.4f\n", 1950+i/12, 1+i%12, math.Sin(0.5*float64(i))+0.3*math.Sin(7.7*float64(i*i)))
	}
	return c.write(name, b.String())
}

// A run with train.patience ends where its validation worsens: at the same step and bits whoever works on it, and also
// after an interruption.
func TestTrain_StopsEarly(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path := c.writeSeries("wave.csv", 120)
	train := func(name string, arguments ...string) result {
		return c.run(append([]string{
			"train", "files", "env.files=" + path, "env.observe=value", "env.time=date", "env.validation=0.2", "env.test=0.2", "env.window=12",
			"model.latent=2", "model.switches=2", "model.hidden=16", "model.blocks=0", "model.kl_samples=1", "optim.rate=0.02",
			"train.steps=3000", "train.batch=8", "train.shards=4", "train.validate_every=10", "train.validation_episodes=4", "train.checkpoint_every=50",
			"train.patience=5", "--name", name, "--quiet",
		}, arguments...)...)
	}
	one := train("one", "--workers", "1")
	info := c.info("one")
	if one.code != exitOK || info.Step >= 3000 || info.State != "finished" || !strings.Contains(info.ExitReason, "stopped early") {
		t.Fatalf("exit code %d at step %d, %s (%s)\n%s", one.code, info.Step, info.State, info.ExitReason, one.err)
	}
	best := uint64(info.Metrics["best_step"])
	if info.Step != best+5*10 {
		t.Errorf("it ended at step %d, the best validation was at %d", info.Step, best)
	}
	if want := fmt.Sprintf("no validation was better than that of step %d", best); !strings.Contains(one.out, want) {
		t.Errorf("%q is missing in\n%s", want, one.out)
	}
	if r := train("three", "--workers", "3"); r.code != exitOK || c.info("three").ParametersSHA256 != info.ParametersSHA256 || c.info("three").Step != info.Step {
		t.Errorf("three workers: %+v, one: %+v", c.info("three"), info)
	}
	if r := c.must("resume", "one"); c.info("one").Step != info.Step || !strings.Contains(r.out+r.err, "finished") {
		t.Errorf("resume of a run that ended early: %+v, %s", c.info("one"), r.out+r.err)
	}
	c.must("verify", "one", "--quiet")
	if r := c.run("train", "fhn", "train.patience=3", "train.validate_every=0", "--dry-run"); r.code != exitUsage || !strings.Contains(r.err, "train.patience") {
		t.Errorf("patience without validations: exit code %d, %s", r.code, r.err)
	}
}

// A model with many parameters for few values is warned of.
func TestTrain_WarnsOfLargeModels(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path := c.writeSeries("wave.csv", 60)
	line := []string{"train", "files", "env.files=" + path, "env.observe=value", "env.time=date", "env.validation=0.2", "env.test=0.2", "env.window=12", "--dry-run"}
	if out := c.must(line...).out; !strings.Contains(out, "parameters for 36 values") {
		t.Errorf("no warning in\n%s", out)
	}
	if out := c.must(append(line, "model.hidden=2", "model.blocks=0", "model.latent=1", "model.switches=2")...).out; strings.Contains(out, "warning") {
		t.Errorf("a warning in\n%s", out)
	}
}
