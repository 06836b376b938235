package cmd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/store"
)

// contents is a digest of all files in the folder of a run.
func (c *cli) contents(name string) string {
	c.t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(filepath.Join(c.dir, name), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintln(h, path, info.ModTime(), info.Mode(), len(data))
		h.Write(data)
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// lie rewrites the log of a run as a worker that computed wrongly would have left it: from a step on the parameters are
// others, and so is the checksum of the first block of that step. It returns what stood there.
func (c *cli) lie(name string, step uint64, block bool) coordinator.Contribution {
	c.t.Helper()
	var was coordinator.Contribution
	c.rewrite(name, func(e *coordinator.Entry) {
		if e.Step < step {
			return
		}
		e.Theta = e.Theta[8:] + e.Theta[:8]
		if e.Step == step {
			was = e.Blocks[0]
			if block {
				e.Blocks[0].Checksum ^= 0x10
				e.Blocks[0].Worker = "liar"
			}
		}
	})
	return was
}

// rewrite changes the steps in the log of a run.
func (c *cli) rewrite(name string, change func(e *coordinator.Entry)) {
	c.t.Helper()
	path := filepath.Join(c.dir, name, store.Log)
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		var e coordinator.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			c.t.Fatal(err)
		}
		if e.Theta == "" {
			out.WriteString(line)
			continue
		}
		change(&e)
		data, err := json.Marshal(e)
		if err != nil {
			c.t.Fatal(err)
		}
		out.Write(append(data, '\n'))
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func TestVerify_SameBits(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // what is left behind there is nobody else's
	c := newCLI(t)
	c.must("train", "noise/smoke", "--name", "a", "--quiet", "--workers", "3")
	steps := c.info("a").Steps
	before := c.contents("a")
	for _, test := range []struct {
		line, want string
	}{
		{"verify a --workers 1", fmt.Sprintf("steps 1..%d: same bits as logged (recomputed from the initial parameters", steps)},
		{fmt.Sprintf("verify a --from %d", steps), fmt.Sprintf("steps %d..%d: same bits as logged (recomputed from the checkpoint of step", steps, steps)},
		{"verify a --from 2 --to 3", "steps 2..3: same bits as logged"},
	} {
		if r := c.must(strings.Fields(test.line)...); !strings.Contains(r.out, test.want) {
			t.Errorf("%s: %q is not in\n%s", test.line, test.want, r.out)
		}
	}
	var v lead.Verdict
	if r := c.must("verify", "a", "--json"); json.Unmarshal([]byte(r.out), &v) != nil || !v.Equal || v.To != steps || v.Missing != 0 || v.Differs != nil {
		t.Errorf("got %s", r.out)
	}
	run, err := store.Open(c.dir, "a") // as a coordinator that is at work
	if err != nil {
		t.Fatal(err)
	}
	c.must("verify", "a", "--from", "3", "--to", "3")
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if c.contents("a") != before {
		t.Error("the run folder has changed")
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "switchyard-recompute-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, line := range []string{"verify a --from 0", "verify a --from 3 --to 2", "verify a --to 100000", "verify b", "verify a --workers 0"} {
		if r := c.run(strings.Fields(line)...); r.code != exitUsage {
			t.Errorf("%s: exit code %d\n%s", line, r.code, r.err)
		}
	}
}

// TestVerify_Interrupted: a signal ends the recomputation of steps with the exit code of a failure, as it leaves no
// checkpoint.
func TestVerify_Interrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c := newCLI(t)
	c.must("train", "noise/smoke", "--name", "a", "train.steps=100", "train.validate_every=0", "--quiet")
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		for t.Context().Err() == nil {
			if at, err := filepath.Glob(filepath.Join(os.TempDir(), "switchyard-recompute-*")); err != nil || len(at) > 0 {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	code, said := signalled(c, "verify a", begun)
	if code != exitFailed || !strings.Contains(said, "error: interrupted") {
		t.Errorf("exit code %d\n%s", code, said)
	}
}

// TestVerify_NamesWhoSummed: where workers sum the gradient, verify and diff name the one whose sum was wrong, and the one
// whose block was; a log of sums is verified like any other.
func TestVerify_NamesWhoSummed(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "noise/smoke", "--name", "a", "--quiet", "--workers", "3", "cluster.exchange=sharded", "cluster.chunk=1024", "train.steps=12",
		"cluster.failure_detection=1m", "cluster.audit_sums=0") // else a busy machine or an audit can make a step a star
	c.must("verify", "a")
	for _, block := range []bool{false, true} {
		name := fmt.Sprint("b", block)
		if err := os.CopyFS(filepath.Join(c.dir, name), os.DirFS(filepath.Join(c.dir, "a"))); err != nil {
			t.Fatal(err)
		}
		wrong := uint64(0) // the first step but one that workers have summed
		c.rewrite(name, func(e *coordinator.Entry) {
			if wrong == 0 && (e.Step < 2 || len(e.Sums) == 0 || e.Blocks[0].Digest == "") {
				return
			}
			e.Theta = e.Theta[8:] + e.Theta[:8]
			if wrong != 0 {
				return
			}
			wrong = e.Step
			e.Sums[0].Digest, e.Sums[0].Worker = "AAAAAAAAAAA", "summer"
			if block {
				e.Blocks[0].Digest, e.Blocks[0].Worker = "BBBBBBBBBBB", "holder"
			}
		})
		if wrong == 0 {
			t.Fatal("workers have summed no step")
		}
		want, not := "by worker summer of run "+name+": digest AAAAAAAAAAA in the log", "holder"
		if block { // a sum of wrong blocks says nothing about who summed
			want, not = "by worker holder of run "+name+": digest BBBBBBBBBBB in the log", "summer"
		}
		for _, line := range []string{"verify " + name, "diff a " + name} {
			if r := c.run(strings.Fields(line)...); r.code != exitFailed || !strings.Contains(r.out, want) || strings.Contains(r.out, not) {
				t.Errorf("%s: exit code %d\n%s%s", line, r.code, r.out, r.err)
			}
		}
	}
}

func TestVerify_OtherBits(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "noise/smoke", "--name", "a", "--quiet")
	was := c.lie("a", 3, true)
	r := c.run("verify", "a")
	if r.code != exitFailed || !strings.Contains(r.err, "step 3 of run a: the bits differ") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	for _, want := range []string{"step 3: other bits than logged", fmt.Sprintf("shards %s by worker liar of run a: checksum %08x in the log, %08x computed here", was.Block, was.Checksum^0x10, was.Checksum)} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	var v lead.Verdict
	r = c.run("verify", "a", "--json")
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || v.Equal || v.Differs.Step != 3 || len(v.Differs.Suspects) != 1 || v.Differs.Suspects[0].Worker != "liar" {
		t.Errorf("got %s, %v", r.out, err)
	}
	if r := c.must("verify", "a", "--to", "2"); !strings.Contains(r.out, "steps 1..2: same bits") {
		t.Errorf("got %s", r.out)
	}
	if r := c.run("verify", "a", "--from", "4"); r.code != exitFailed {
		t.Errorf("exit code %d\n%s", r.code, r.out)
	}
}

// A run whose gradients travel as integers is recomputed to the same bits by any number of workers. A wrong block is
// found, also in a step that was computed twice.
func TestVerify_Integers(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, workers := range []string{"1", "3", "8"} {
		c.must("train", "noise/smoke", "--name", "w"+workers, "--quiet", "--workers", workers, "train.gradients=int16")
	}
	if a, b := c.info("w1").ParametersSHA256, c.info("w3").ParametersSHA256; a != b {
		t.Errorf("one worker %s, three %s", a, b)
	}
	steps := c.info("w1").Steps
	for _, from := range []uint64{1, steps} { // from the initial parameters, and from a checkpoint
		r := c.must("verify", "w3", "--from", fmt.Sprint(from))
		if want := fmt.Sprintf("steps %d..%d: same bits", from, steps); !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	for name, step := range map[string]uint64{"w1": 1, "w8": 1, "w3": 3} { // the first step does not fit its scales
		was := c.lie(name, step, true)
		r := c.run("verify", name)
		want := fmt.Sprintf("shards %s by worker liar of run %s: checksum %08x in the log, %08x computed here", was.Block, name, was.Checksum^0x10, was.Checksum)
		if r.code != exitFailed || !strings.Contains(r.out, want) || strings.Count(r.out, "by worker") != 1 {
			t.Errorf("exit code %d: %q is not in\n%s", r.code, want, r.out)
		}
	}
	c.must("train", "noise/smoke", "--name", "f", "--quiet")
	if r := c.run("diff", "f", "w1"); r.code != exitFailed || !strings.Contains(r.out, "train.gradients is float32 in f, int16 in w1") ||
		!strings.Contains(r.out, "the gradients of the runs travel in different forms") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

// A run whose parameters travel as differences is recomputed to the same bits, from the beginning and from a checkpoint; one
// whose parameters travel whole is another run.
func TestVerify_Differences(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "noise/smoke", "--name", "d", "--quiet", "--workers", "3", "train.parameters=delta8")
	steps := c.info("d").Steps
	for _, from := range []uint64{1, steps} {
		r := c.must("verify", "d", "--from", fmt.Sprint(from))
		if want := fmt.Sprintf("steps %d..%d: same bits", from, steps); !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
	c.must("train", "noise/smoke", "--name", "f", "--quiet")
	if r := c.run("diff", "f", "d"); r.code != exitFailed || !strings.Contains(r.out, "train.parameters is float32 in f, delta8 in d") ||
		!strings.Contains(r.out, "travel in different forms") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	train := func(name string, settings ...string) {
		t.Helper()
		c.must(append([]string{"train", "noise/smoke", "--name", name, "--quiet"}, settings...)...)
	}
	train("a")
	train("same", "--workers", "3", "cluster.chunk=1024", "train.validate_every=0")
	train("shorter", "train.steps=5")
	train("seed", "seed=2")
	train("size", "model.hidden=17")
	train("rate", "optim.rate=1e-3")
	train("decay", "optim.decay_every=4")
	train("loss", "anneal.kl_switch=0.2")
	train("shards", "train.shards=4")
	train("liar")
	was := c.lie("liar", 4, true)
	train("update")
	c.lie("update", 4, false)
	steps := c.info("a").Steps
	for _, test := range []struct {
		a, b string
		code int
		want []string
	}{
		{"a", "same", exitOK, []string{fmt.Sprintf("same bits in all %d steps", steps)}},
		{"shorter", "a", exitOK, []string{"same bits in all 5 steps"}},
		{"a", "seed", exitFailed, []string{"begin with different parameters", "seed is 1 in a, 2 in seed", "the initial parameters differ first in tensor"}},
		{"a", "size", exitFailed, []string{"model.hidden is", "their models differ, first in tensor"}},
		{"a", "rate", exitFailed, []string{"part at step 1\n", "optim.rate is", "the gradients are the same in both; the updates differ by the configuration"}},
		{"decay", "a", exitFailed, []string{"part at step 5\n", "optim.decay_every is 4 in decay", "the updates differ by the configuration"}},
		{"a", "loss", exitFailed, []string{"part at step 1\n", "anneal.kl_switch is", "the gradients of step 1, shard 0, differ first in tensor"}},
		{"a", "shards", exitFailed, []string{"part at step 1\n", "train.shards is", "other sequences or shards"}},
		{"a", "liar", exitFailed, []string{
			"part at step 4\n", "their configurations decide the same bits",
			fmt.Sprintf("shards %s by worker liar of run liar: checksum %08x in the log, %08x computed here", was.Block, was.Checksum^0x10, was.Checksum),
		}},
		{"update", "a", exitFailed, []string{"part at step 4\n", "the coordinator made another update than this machine, or the log is damaged; the update of run update has hash"}},
	} {
		r := c.run("diff", test.a, test.b)
		if r.code != test.code {
			t.Errorf("diff %s %s: exit code %d, want %d\n%s%s", test.a, test.b, r.code, test.code, r.out, r.err)
		}
		for _, want := range test.want {
			if !strings.Contains(r.out, want) {
				t.Errorf("diff %s %s: %q is not in\n%s", test.a, test.b, want, r.out)
			}
		}
	}
	var d lead.Comparison
	r := c.run("diff", "a", "liar", "--json")
	if err := json.Unmarshal([]byte(r.out), &d); err != nil || d.Equal || d.Step != 4 || d.Common != 3 || len(d.Suspects) != 1 || d.Suspects[0].Run != "liar" || d.Place != nil {
		t.Errorf("got %s, %v", r.out, err)
	}
	r = c.run("diff", "a", "loss", "--json")
	if err := json.Unmarshal([]byte(r.out), &d); err != nil || d.Place == nil || d.Place.Tensor == "" || len(d.Keys) != 1 || d.Keys[0].Key != "anneal.kl_switch" {
		t.Errorf("got %s, %v", r.out, err)
	}
}

// TestDiff_KeysThatOneRunLacks: a key that one run lacks is not set there.
func TestDiff_KeysThatOneRunLacks(t *testing.T) {
	t.Parallel()
	var out buffer
	a := &app{out: &out}
	d := &lead.Comparison{A: "odd", B: "try", Step: 1, Keys: []config.Difference{{Key: "env.observations", A: "3"}}}
	if err := a.printComparison(d); err != nil || !strings.Contains(out.String(), "env.observations is 3 in odd, not set in try") {
		t.Errorf("%v, %s", err, out.String())
	}
}
