package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/trained"
)

// schedules are the options of the trainer that decide bits.
var schedules = []string{
	"optim.schedule=cosine", "optim.warmup=4", "optim.clip=0", "optim.clip_factor=1.5", "optim.clip_size=0.8", "optim.factors=transition.Q=10,encoder=0.5", "optim.average=0.9",
}

// With every option of the trainer, in every method and wire mode, a run has the same bits for any workers, is
// recomputed by verify, and continues after an interruption; so do its running norm and its average.
func TestTrainer_EveryMode(t *testing.T) {
	t.Parallel()
	for _, mode := range [][]string{
		{"train.gradients=float32", "optim.outlier=50"},
		{"train.gradients=int16", "optim.outlier=50"},
		{"train.gradients=int8", "optim.outlier=50"},
		{"train.method=diloco", "train.replicas=2", "train.local_steps=5"},
		{"train.parameters=delta8", "train.gradients=int16", "optim.outlier=50"},
		{"train.parameters=delta16", "train.method=diloco", "train.replicas=2", "train.local_steps=5"},
	} {
		t.Run(mode[0], func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			arguments := append(append([]string{"train", "noise/smoke", "train.steps=30"}, schedules...), mode...)
			last := func(name string) *checkpoint.Checkpoint {
				t.Helper()
				cp, _, err := checkpoint.Restore(filepath.Join(c.dir, name, store.Checkpoints))
				if err != nil || cp.Step != 30 {
					t.Fatalf("%s: %+v, %v", name, cp, err)
				}
				return cp
			}
			c.must(append(arguments, "--name", "one", "--quiet", "--workers", "1")...)
			c.must(append(arguments, "--name", "three", "--quiet", "--workers", "3", "--slots", "2")...)
			c.must(append(arguments, "--name", "part", "--quiet", "train.steps=10", "train.horizon=30")...)
			if r := c.must("verify", "three"); !strings.Contains(r.out, "same bits as logged") {
				t.Errorf("verify: %s", r.out)
			}
			one, three := last("one"), last("three")
			if one.ParamsSHA256 != three.ParamsSHA256 || checkpoint.Hash(one.Evaluated()) != checkpoint.Hash(three.Evaluated()) || one.BestLoss != three.BestLoss {
				t.Errorf("one worker: %s and %v, three: %s and %v", one.ParamsSHA256, one.BestLoss, three.ParamsSHA256, three.BestLoss)
			}
			if checkpoint.Hash(one.Evaluated()) == one.ParamsSHA256 {
				t.Error("the average is the parameters")
			}
			opened, err := trained.OpenAt(filepath.Join(c.dir, "one"), trained.Last, nil)
			if err != nil || checkpoint.Hash(opened.Model().Params().Values) != checkpoint.Hash(one.Evaluated()) {
				t.Errorf("the model that is evaluated has not the averaged parameters, %v", err)
			}
			part, _, err := checkpoint.Restore(filepath.Join(c.dir, "part", store.Checkpoints))
			if err != nil {
				t.Fatal(err)
			}
			if r := c.must("diff", "one", "part"); !strings.Contains(r.out, "same bits in all 10 steps") {
				t.Errorf("the first %d steps of a shorter run with the same horizon:\n%s", part.Step, r.out)
			}
			if r := c.must(append(arguments, "--name", "eval", "--quiet", "optim.average=0")...); r.code != 0 || c.info("eval").ParametersSHA256 != one.ParamsSHA256 {
				t.Errorf("without the average the parameters are %s, want %s", c.info("eval").ParametersSHA256, one.ParamsSHA256)
			}
		})
	}
}

func TestTrainer_Refused(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, test := range []struct{ line, want string }{
		{"train noise/smoke optim.factors=transitions.Q=3", "did you mean transition.Q?"},
		{"train noise/smoke optim.factors=everything=3", "there are initial"},
		{"train noise/smoke optim.factors=encoder", "is not of the form group=factor"},
		{"train noise/smoke optim.clip_factor=0.5", "every gradient would be cut"},
		{"train noise/smoke optim.outlier=1", "usual updates would be left out"},
		{"train noise/smoke optim.schedule=cosin", "did you mean cosine?"},
	} {
		if r := c.run(strings.Fields(test.line)...); r.code != exitUsage || !strings.Contains(r.err, test.want) {
			t.Errorf("%s: code %d, %q is not in\n%s", test.line, r.code, test.want, r.err)
		}
	}
}
