package lead

import (
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
)

// logOf is a log with lines for these steps, of which each has its own hash but those of the other run.
func logOf(theta string, steps ...uint64) *coordinator.Log {
	log := &coordinator.Log{Entries: map[uint64]coordinator.Entry{}}
	for _, step := range steps {
		log.Entries[step] = coordinator.Entry{Step: step, Theta: theta}
		log.Last = max(log.Last, step)
	}
	return log
}

// TestComparison_Part: where logs part, and that logs without a common step are not called equal.
func TestComparison_Part(t *testing.T) {
	for _, c := range []struct {
		name         string
		a, b         *coordinator.Log
		equal        bool
		common, step uint64
	}{
		{"same", logOf("x", 1, 2, 3), logOf("x", 1, 2, 3, 4), true, 3, 0},
		{"some missing", logOf("x", 1, 3), logOf("x", 1, 2, 3), true, 3, 0},
		{"other bits", logOf("x", 1, 2), logOf("y", 2, 3), false, 0, 2},
		{"nothing in common", logOf("x", 1, 2, 3), logOf("x", 50, 100), false, 0, 0},
		{"an empty log", logOf("x"), logOf("x", 1), false, 0, 0},
	} {
		var d Comparison
		d.part(c.a, c.b)
		if d.Equal != c.equal || d.Common != c.common || d.Step != c.step {
			t.Errorf("%s: %+v", c.name, d)
		}
		if d.Compared() != (d.Note == "") {
			t.Errorf("%s: the note is %q", c.name, d.Note)
		}
	}
}

// TestUnlike: what is said of runs that cannot be compared shard by shard holds for both of them.
func TestUnlike(t *testing.T) {
	plain := resolve(t)
	for _, c := range []struct {
		a, b config.Config
		want string
	}{
		{plain, plain, ""},
		{plain, resolve(t, "optim.rate=0.002"), ""},
		{plain, resolve(t, "train.shards=4"), "other sequences or shards"},
		{plain, resolve(t, "train.gradients=int8"), "the gradients of the runs travel in different forms"},
		{resolve(t, "train.gradients=int8"), resolve(t, "train.gradients=int16"), "the gradients of the runs travel in different forms"},
		{plain, resolve(t, "train.parameters=delta8"), "the parameters of the runs travel in different forms"},
	} {
		if got := unlike(c.a, c.b); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// resolve is the configuration of a short run with some settings.
func resolve(t *testing.T, arguments ...string) config.Config {
	t.Helper()
	r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "noise/smoke", Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return r.Config
}
