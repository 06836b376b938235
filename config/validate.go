package config

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// A rule is a condition on several keys. It is checked only if each of them has a valid value. fault returns "" if the
// rule holds.
type rule struct {
	keys  []string // the problem is reported at the first
	fault func(c *Config) (message, hint string)
}

// rules are the conditions between keys of training and of its data; those of the kinds follow, and then
// messageRules.
var rules = []rule{
	{[]string{"optim.factors"}, faultOfFactors},
	{[]string{"optim.clip_factor"}, faultOfClipFactor},
	{[]string{"optim.outlier"}, faultOfOutlier},
	{[]string{"train.shards"}, func(c *Config) (string, string) {
		if n := c.Train.Shards; n&(n-1) != 0 {
			return fmt.Sprintf("%d is not a power of two", n), fmt.Sprintf("gradients are summed in a complete binary tree; "+
				"use %d or %d", powerBelow(n), 2*powerBelow(n))
		}
		return "", ""
	}},
	{[]string{"train.batch", "train.shards"}, func(c *Config) (string, string) {
		return multiple(c.Train.Batch, c.Train.Shards, "train.shards")
	}},
	{[]string{"train.validation_episodes", "train.shards"}, func(c *Config) (string, string) {
		return multiple(c.Train.ValidationEpisodes, c.Train.Shards, "train.shards")
	}},
	{[]string{"train.gradients", "train.method"}, func(c *Config) (string, string) {
		if c.Train.Gradients != "float32" && c.Train.Method == "diloco" {
			return "what replicas have moved (train.method=diloco) travels as float32 only",
				"set train.gradients=float32, or train.method=synchronous"
		}
		return "", ""
	}},
	{[]string{"train.gradients", "train.shards"}, func(c *Config) (string, string) {
		if most := mostShards(c.Train.Gradients); c.Train.Shards > most {
			return fmt.Sprintf("sums in %s have room for %d shards, not for train.shards=%d", c.Train.Gradients, most,
					c.Train.Shards),
				"use fewer shards, or float32"
		}
		return "", ""
	}},
	{[]string{"train.replicas", "train.method", "train.shards"}, func(c *Config) (string, string) {
		k := c.Train.Replicas
		switch {
		case c.Train.Method != "diloco" && k != 0:
			return fmt.Sprintf("train.method=%s has no replicas", c.Train.Method), "set train.method=diloco, or leave it 0"
		case c.Train.Method == "diloco" && k == 0:
			return "train.method=diloco needs at least 1", "e.g. train.replicas=4"
		case k&(k-1) != 0:
			return fmt.Sprintf("%d is not a power of two", k), fmt.Sprintf("use %d or %d", powerBelow(k), 2*powerBelow(k))
		case k > c.Train.Shards:
			return fmt.Sprintf("%d replicas for the %d shards of a batch (train.shards): each needs one", k, c.Train.Shards),
				fmt.Sprintf("use at most %d", c.Train.Shards)
		}
		return "", ""
	}},
	{[]string{"train.local_steps", "train.method"}, func(c *Config) (string, string) {
		switch h := c.Train.LocalSteps; {
		case c.Train.Method != "diloco" && h != 0:
			return fmt.Sprintf("train.method=%s has no local steps", c.Train.Method), "set train.method=diloco, or leave it 0"
		case c.Train.Method == "diloco" && h == 0:
			return "train.method=diloco needs at least 1", "e.g. train.local_steps=16"
		}
		return "", ""
	}},
	{[]string{"train.steps", "train.local_steps"}, func(c *Config) (string, string) { return c.rounds(c.Train.Steps) }},
	{[]string{"train.validate_every", "train.local_steps"}, func(c *Config) (string,
		string,
	) {
		return c.rounds(c.Train.ValidateEvery)
	}},
	{[]string{"train.patience", "train.validate_every"}, func(c *Config) (string, string) {
		if c.Train.Patience > 0 && c.Train.ValidateEvery == 0 {
			return fmt.Sprintf("%d validations without a better one: there is only the one at the end (train.validate_every=0)",
				c.Train.Patience), "e.g. train.validate_every=100"
		}
		return "", ""
	}},
	{[]string{"train.checkpoint_every", "train.local_steps"}, func(c *Config) (string,
		string,
	) {
		return c.rounds(c.Train.CheckpointEvery)
	}},
	{[]string{"env.window", "env.length"}, func(c *Config) (string, string) {
		// A model that fits itself reads whole episodes, whatever the window of the preset is.
		if !c.Recorded() && c.Uses("env.window") && c.Env.Window > c.Env.Length {
			return fmt.Sprintf("%d is longer than an episode (env.length=%d)", c.Env.Window, c.Env.Length),
				"0 takes the whole episode"
		}
		return "", ""
	}},
}

// messageRules are the rules for evaluation and message path.
var messageRules = []rule{
	{[]string{"eval.filter_window", "env.length"}, func(c *Config) (string, string) {
		if w := c.Eval.FilterWindow; !c.Recorded() && w > c.Env.Length {
			return fmt.Sprintf("%d is longer than an episode (env.length=%d)", w, c.Env.Length), "0 filters the whole past"
		}
		return "", ""
	}},
	{[]string{"cluster.chunk"}, func(c *Config) (string, string) {
		return multiple(c.Cluster.Chunk, 4, "the bytes of a parameter")
	}},
	{[]string{"cluster.credit", "cluster.chunk", "env.kind"}, func(c *Config) (string, string) {
		if c.Cluster.Credit < c.Cluster.Chunk {
			return fmt.Sprintf("%d is less than one chunk (cluster.chunk=%d)", c.Cluster.Credit, c.Cluster.Chunk), ""
		}
		if c.Recorded() && c.Cluster.Credit < 2*c.Cluster.Chunk {
			return fmt.Sprintf("%d is less than two chunks (cluster.chunk=%d), one for gradients and one for the data set",
				c.Cluster.Credit, c.Cluster.Chunk), ""
		}
		return "", ""
	}},
}

// mostShards is how many shards a sum has room for in a form of gradients: for integers as quantize.Width.MaxShards has
// it, which this package must not import.
func mostShards(gradients string) int {
	switch gradients {
	case "int16":
		return 256
	case "int8":
		return 32
	}
	return math.MaxInt
}

// validate checks the rules. It reports each fault at the place where the user wrote one of its keys.
func (r *resolver) validate() {
	if r.config.Env.Settings == nil || r.config.Model.Settings == nil {
		return // the problem of the kind is already reported
	}
	r.report(rules)
	env, model := r.config.kinds.env.find(r.config.Env.Kind), r.config.kinds.model.find(r.config.Model.Kind)
	for _, kind := range []Kind{env, model} {
		if kind.Check == nil {
			continue
		}
		for _, f := range kind.Check(&r.config) {
			r.fault(f)
		}
	}
	r.report(messageRules)
}

// Check returns, as an *Error, the faults between keys of a configuration whose settings were changed after it was
// read.
func (c Config) Check() error {
	// A resolver without layers: no key has an origin, so that problems have no position.
	r := c.kinds.resolver()
	r.config = c
	r.validate()
	if len(r.problems) > 0 {
		return &Error{Problems: r.problems}
	}
	return nil
}

// report adds the faults of rules.
func (r *resolver) report(rules []rule) {
	for _, rule := range rules {
		if message, hint := rule.fault(&r.config); message != "" {
			r.fault(setting.Fault{Keys: rule.keys, Message: message, Hint: hint})
		}
	}
}

// fault adds a problem between keys, unless one of the keys has a problem of its own.
func (r *resolver) fault(f setting.Fault) {
	for _, k := range f.Keys {
		if r.faulty[k] {
			return
		}
	}
	r.problems = append(r.problems, Problem{
		Origin: r.origins[r.culprit(f.Keys)], Key: f.Keys[0], Message: f.Message,
		Hint: f.Hint,
	})
}

// culprit is the key to which a fault between keys is reported: the first that a user wrote, or else the kind of the
// environment or of the model, if a user wrote that, or the first.
func (r *resolver) culprit(keys []string) string {
	for _, k := range append(slices.Clone(keys), "model.kind", "env.kind") {
		if o := r.origins[k]; o.Name != "" && !o.fromPreset() {
			return k
		}
	}
	return keys[0]
}

// Sequence is the number of time steps of a training sequence: a window, or a whole episode.
func (c *Config) Sequence() int {
	if c.Env.Window > 0 {
		return c.Env.Window
	}
	return c.Env.Length
}

// multiple is the fault of an n that is not a multiple of another number, with the multiples next to it as the
// hint. name says what the other number is.
func multiple(n, of int, name string) (message, hint string) {
	if n%of == 0 {
		return "", ""
	}
	hint = fmt.Sprintf("use %d", n-n%of+of)
	if n > of {
		hint = fmt.Sprintf("use %d or %d", n-n%of, n-n%of+of)
	}
	return fmt.Sprintf("%d is not a multiple of %s (%d)", n, name, of), hint
}

// rounds checks that a number of updates is a whole number of rounds of local steps.
func (c *Config) rounds(updates uint64) (message, hint string) {
	if c.Train.LocalSteps == 0 || c.Train.Method != "diloco" {
		return "", ""
	}
	return multiple(int(updates), int(c.Train.LocalSteps), "train.local_steps")
}

// powerBelow is the greatest power of two that is at most n; 1 for n below 1.
func powerBelow(n int) int {
	p := 1
	for 2*p <= n {
		p *= 2
	}
	return p
}
