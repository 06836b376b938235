package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// command runs the program and returns what it prints.
func (y *yard) command(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, y.binary, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("switchyard %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), nil
}

// operate asks the coordinator; for a minute, if it does not answer.
func (y *yard) operate(ctx context.Context, args ...string) (string, error) {
	for began := time.Now(); ; {
		out, err := y.command(ctx, append(args, "--nats", y.url, "--nkey", y.key("operator"))...)
		if err == nil || time.Since(began) > time.Minute || pause(ctx, time.Second) != nil {
			return out, err
		}
	}
}

// endless is more steps than a run makes in a day.
const endless = 100_000_000

// job is the preset with so many steps, not validated, and saved every 500 steps: a toy does little else otherwise.
func (y *yard) job(steps uint64) []string {
	return []string{y.preset, fmt.Sprintf("train.steps=%d", steps), "train.validate_every=0", "train.checkpoint_every=500"}
}

// submit opens a run that goes on until it is stopped.
func (y *yard) submit(ctx context.Context, name string) error {
	_, err := y.operate(ctx, append([]string{"submit", "--name", name}, y.job(endless)...)...)
	return err
}

// begin opens the run that is attacked and waits until it is at work.
func (y *yard) begin(ctx context.Context) error {
	if err := y.submit(ctx, y.name); err != nil {
		return err
	}
	for {
		i, err := y.show(ctx, y.name)
		if err != nil || i.Step > 100 {
			return err
		}
		if err := errors.Join(y.alive(), pause(ctx, 200*time.Millisecond)); err != nil {
			return err
		}
	}
}

// info is what is said of a run.
type info struct {
	State string `json:"state"`
	Step  uint64 `json:"step"`
	SHA   string `json:"params_sha256"`
}

func (y *yard) show(ctx context.Context, name string) (i info, err error) {
	out, err := y.operate(ctx, "runs", "show", name, "--json")
	if err != nil {
		return i, err
	}
	return i, json.Unmarshal([]byte(out), &i)
}

// speed is the steps per second of all runs named, over the window.
func (y *yard) speed(ctx context.Context, names ...string) (float64, error) {
	steps := func() (sum uint64, err error) {
		for _, name := range names {
			i, err := y.show(ctx, name)
			if err != nil {
				return 0, err
			}
			sum += i.Step
		}
		return sum, nil
	}
	from, err := steps()
	began := time.Now() // what is said was so a moment ago
	if err == nil {
		err = pause(ctx, y.window)
	}
	if err != nil {
		return 0, err
	}
	to, err := steps()
	return float64(to-min(from, to)) / time.Since(began).Seconds(), err
}

// banned returns what `runs ls` says of banned keys.
func (y *yard) banned(ctx context.Context) (key, reason string, err error) {
	out, err := y.operate(ctx, "runs", "ls")
	if err != nil {
		return "", "", err
	}
	if m := regexp.MustCompile(`(?m)^\s*(U[A-Z2-7]{11})\s+\S+ \S+\s+(.*)$`).FindStringSubmatch(out); m != nil {
		return m[1], m[2], nil
	}
	return "", "", nil
}

func (y *yard) unban(ctx context.Context) error {
	key, _, err := y.banned(ctx)
	if err == nil && key != "" {
		_, err = y.operate(ctx, "unban", key)
	}
	return err
}

// compare stops the run and compares its bits with those that `train` computes alone.
func (y *yard) compare(ctx context.Context) error {
	if _, err := y.operate(ctx, "runs", "stop", y.name); err != nil {
		return err
	}
	attacked, err := y.show(ctx, y.name)
	for ; err == nil && attacked.State == "running"; attacked, err = y.show(ctx, y.name) {
		err = pause(ctx, time.Second)
	}
	if err != nil {
		return err
	}
	for _, name := range append(y.honest(), "late") { // they have had their time
		y.end(name, os.Interrupt)
	}
	args := append([]string{
		"train", "--name", "quiet", "--runs-dir", filepath.Join(y.dir, "reference"), "--workers", "1",
		"--quiet",
	}, y.job(attacked.Step)...)
	if _, err := y.command(ctx, args...); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(y.dir, "reference", "quiet", "run.json"))
	if err != nil {
		return err
	}
	var quiet info
	if err := json.Unmarshal(data, &quiet); err != nil {
		return err
	}
	fmt.Printf("\nSHA-256 of the parameters after %d steps: under attack %s, of `train` alone %s: the same: %v\n",
		attacked.Step, attacked.SHA, quiet.SHA, attacked.SHA == quiet.SHA)
	if attacked.SHA != quiet.SHA || attacked.Step != quiet.Step {
		return errors.New("the thief changed bits")
	}
	return nil
}
