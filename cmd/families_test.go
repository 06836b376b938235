package cmd

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/store"
)

// familyArguments are what a family needs to be quick; families without an entry need nothing.
var familyArguments = map[string]string{
	"rslds":  "model.chains=2 model.sweeps=12 model.burn_in=4 model.draws=2 model.exchange=6",
	"trslds": "model.chains=2 model.sweeps=12 model.burn_in=4 model.draws=2 model.exchange=6",
	"arhmm":  "model.chains=2 model.sweeps=12 model.exchange=6",
	"naive":  "model.season=2", // one sweep counts all: there is nothing to stop halfway
}

// TestFamilies_ThroughTheSameCommands: every family trains with one worker and with three to the same parameters and the
// same values of every validation, the importance-weighted bound among them where there is one; a run that was stopped
// halfway goes on to the same bits; all are verified, evaluated and opened by the library for a forecast.
func TestFamilies_ThroughTheSameCommands(t *testing.T) {
	t.Parallel()
	variants := builtin().Families()
	for _, s := range []string{"normal", "deterministic", "categorical model.rows=true model.preview=true cluster.exchange=sharded train.gradients=int16"} {
		variants = append(variants, "slds model.switching="+s)
	}
	for _, variant := range variants {
		family, more, _ := strings.Cut(variant, " ")
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			command := append([]string{"train", "maze/smoke", "model.kind=" + family, "env.episodes=16", "env.balls=1", "env.length=12", "eval.horizon=4", "eval.samples=2"}, strings.Fields(familyArguments[family]+" "+more)...)
			if familyArguments[family] == "" {
				command = append(command, "train.steps=12", "train.validate_every=6", "train.checkpoint_every=6")
			}
			if c.run(append(command, "eval.importance=3", "--dry-run")...).code == exitOK {
				command = append(command, "eval.importance=3")
			} else if slices.Contains([]string{"slds", "fusion", "dvbf", "kvae"}, family) {
				t.Error("the importance-weighted bound is refused")
			}
			train := func(name string, more ...string) store.Info {
				c.must(append(append(slices.Clone(command), "--quiet", "--name", name), more...)...)
				return c.info(name)
			}
			measured := c.must(append(slices.Clone(command), "--json", "--quiet", "--name", "one", "--workers", "1")...).out
			last := uint64(12)
			if family == "naive" {
				last = 1
			}
			one, three := c.info("one"), train("three", "--workers", "3")
			if one.ParametersSHA256 != three.ParametersSHA256 || one.Step != last {
				t.Errorf("%d steps: %s with one worker, %s with three", one.Step, one.ParametersSHA256, three.ParametersSHA256)
			}
			if a, b := validations(t, c, "one"), validations(t, c, "three"); !slices.EqualFunc(a, b, maps.Equal[store.Values, store.Values]) {
				t.Errorf("validations with one worker %v, with three %v", a, b)
			} else if weighted := slices.Contains(command, "eval.importance=3"); len(a) > 0 && (a[0]["importance_elbo"] != 0) != weighted {
				t.Errorf("validation %v", a[0])
			}
			if last == 12 {
				c.cutBack("three")
				c.must("resume", "three", "--workers", "2", "--quiet")
				if left := checkpointsOf12(t, filepath.Join(c.dir, "three")); len(left) == 0 {
					t.Error("the resumed run has not written its last checkpoint")
				}
				if got := c.info("three"); got.ParametersSHA256 != one.ParametersSHA256 || got.Step != 12 {
					t.Errorf("resumed to step %d: %s, in one go: %s", got.Step, got.ParametersSHA256, one.ParametersSHA256)
				}
			}
			c.must("verify", "three")
			if !strings.Contains(measured, `"ratio_to_static"`) {
				t.Errorf("the evaluation is\n%s", measured)
			}
			forecasts(t, c.dir+"/one")
		})
	}
}

// forecasts opens a run and asks it for a forecast of a series.
func forecasts(t *testing.T, folder string) {
	t.Helper()
	run, err := switchyard.Open(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	series := switchyard.Series{Observations: rows(5, 2), Controls: rows(5, 2)}
	f, err := run.Forecast(series, switchyard.Query{Horizon: 3, Controls: rows(3, 2), Samples: 2})
	if err != nil || len(f.Mean) != 3 || len(f.Mean[0]) != 2 || math.IsNaN(f.Mean[2][1]) {
		t.Errorf("forecast %v, %v", f.Mean, err)
	}
}

// rows are n rows of small numbers.
func rows(n, columns int) [][]float64 {
	x := make([][]float64, n)
	for i := range x {
		for j := range columns {
			x[i] = append(x[i], float64((i+j)%3)/5)
		}
	}
	return x
}

// cutBack leaves of a run what a process leaves that was killed before the checkpoint of step 12.
func (c *cli) cutBack(name string) {
	c.t.Helper()
	list := checkpointsOf12(c.t, filepath.Join(c.dir, name))
	if len(list) == 0 {
		c.t.Fatal("there is no checkpoint of step 12")
	}
	for _, path := range list {
		if err := os.RemoveAll(path); err != nil {
			c.t.Fatal(err)
		}
	}
	file := filepath.Join(c.dir, name, "run.json")
	text, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	running := strings.Replace(string(text), `"state": "finished"`, `"state": "running"`, 1)
	if err := os.WriteFile(file, []byte(running), 0o644); err != nil || running == string(text) {
		c.t.Fatalf("run.json was not changed: %v", err)
	}
}

func checkpointsOf12(t *testing.T, folder string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder, store.Checkpoints, "*12*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// validations are the values of all validations of a run.
func validations(t *testing.T, c *cli, name string) []store.Values {
	t.Helper()
	var list []store.Values
	err := store.ReadMetrics(c.dir, name, func(r store.Record) error {
		if _, leaked := r.Values["importance_elbo"]; leaked && r.Split == "train" {
			t.Errorf("step %d of training has an importance-weighted bound", r.Step)
		}
		if r.Split == "validation" {
			list = append(list, r.Values)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
