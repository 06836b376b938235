package config

import "fmt"

// A rule is a condition on several keys. It is checked only where each of them has
// a valid value of its own; fault returns "" where the rule holds.
type rule struct {
	keys  []string // the first is where the problem is shown
	fault func(c *Config) (message, hint string)
}

var rules = []rule{
	{[]string{"train.shards"}, func(c *Config) (string, string) {
		if n := c.Train.Shards; n&(n-1) != 0 {
			return fmt.Sprintf("%d is not a power of two", n), fmt.Sprintf("gradients are summed in a complete binary tree; use %d or %d", powerBelow(n), 2*powerBelow(n))
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
		if c.Train.Gradients == "int16" && c.Train.Method == "diloco" {
			return "what replicas have moved (train.method=diloco) travels as float32 only", "set train.gradients=float32, or train.method=synchronous"
		}
		return "", ""
	}},
	{[]string{"train.gradients", "train.shards"}, func(c *Config) (string, string) {
		if c.Train.Gradients == "int16" && c.Train.Shards > maxIntegerShards {
			return fmt.Sprintf("sums of 16-bit integers have room for %d shards, not for train.shards=%d", maxIntegerShards, c.Train.Shards),
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
			return fmt.Sprintf("%d replicas for the %d shards of a batch (train.shards): each needs one", k, c.Train.Shards), fmt.Sprintf("use at most %d", c.Train.Shards)
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
	{[]string{"train.validate_every", "train.local_steps"}, func(c *Config) (string, string) { return c.rounds(c.Train.ValidateEvery) }},
	{[]string{"train.checkpoint_every", "train.local_steps"}, func(c *Config) (string, string) { return c.rounds(c.Train.CheckpointEvery) }},
	{[]string{"env.hash", "env.kind"}, func(c *Config) (string, string) {
		if c.Env.Hash != "" && c.Env.Kind != "files" {
			return fmt.Sprintf("env.kind=%s has no data set", c.Env.Kind), `leave it ""`
		}
		return "", ""
	}},
	{[]string{"env.files", "env.kind"}, func(c *Config) (string, string) {
		if c.Env.Files != "" && c.Env.Kind != "files" {
			return fmt.Sprintf("env.kind=%s simulates its data", c.Env.Kind), "start from the preset files, or set env.kind=files"
		}
		return "", ""
	}},
	{[]string{"env.validation", "env.test"}, func(c *Config) (string, string) {
		if c.Env.Validation+c.Env.Test >= 1 {
			return fmt.Sprintf("%g and env.test=%g leave nothing for training", c.Env.Validation, c.Env.Test), ""
		}
		return "", ""
	}},
	{[]string{"env.window", "env.length"}, func(c *Config) (string, string) {
		if c.Env.Kind != "files" && c.Env.Window > c.Env.Length {
			return fmt.Sprintf("%d is longer than an episode (env.length=%d)", c.Env.Window, c.Env.Length), "0 takes the whole episode"
		}
		return "", ""
	}},
	{[]string{"model.initial_observations", "env.window", "env.length"}, func(c *Config) (string, string) {
		if k, t := c.Model.InitialObservations, c.sequence(); k >= t {
			return fmt.Sprintf("%d leaves nothing to infer in a training sequence of %d steps", k, t), ""
		}
		return "", ""
	}},
	{[]string{"env.observations", "env.kind"}, func(c *Config) (string, string) {
		if noise := c.Env.Kind == "noise"; noise && c.Env.Observations == 0 {
			return "env.kind=noise needs at least 1", "e.g. env.observations=6"
		} else if !noise && c.Env.Observations != 0 && c.Env.Hash == "" {
			return fmt.Sprintf("env.kind=%s has its own observations", c.Env.Kind), "leave it 0"
		}
		return "", ""
	}},
	{[]string{"env.controls", "env.kind"}, func(c *Config) (string, string) {
		if c.Env.Kind != "noise" && c.Env.Controls != 0 && c.Env.Hash == "" {
			return fmt.Sprintf("env.kind=%s has its own controls", c.Env.Kind), "leave it 0"
		}
		return "", ""
	}},
	{[]string{"env.dt", "env.kind"}, func(c *Config) (string, string) {
		if c.Env.DT != 0 && c.Env.Kind != "maze" && c.Env.Kind != "ball" {
			return fmt.Sprintf("the time step of env.kind=%s is fixed", c.Env.Kind), "leave it 0"
		}
		return "", ""
	}},
	{[]string{"env.variant", "env.kind"}, func(c *Config) (string, string) {
		if c.Env.Variant != "a" && c.Env.Kind != "maze" {
			return fmt.Sprintf("env.kind=%s has no variants", c.Env.Kind), "leave it a"
		}
		return "", ""
	}},
	{[]string{"env.balls", "env.kind"}, func(c *Config) (string, string) {
		if c.Env.Balls != 0 && c.Env.Kind != "maze" {
			return fmt.Sprintf("env.kind=%s has no number of agents", c.Env.Kind), "leave it 0"
		}
		return "", ""
	}},
	{[]string{"env.walls", "env.kind"}, func(c *Config) (string, string) {
		if c.Env.Walls && c.Env.Kind != "ball" {
			return fmt.Sprintf("env.kind=%s has no images", c.Env.Kind), "leave it false"
		}
		return "", ""
	}},
	{[]string{"model.emission", "env.kind"}, func(c *Config) (string, string) {
		if c.Model.Emission == "bernoulli" && c.Env.Kind != "ball" && c.Env.Kind != "files" {
			return fmt.Sprintf("bernoulli needs observations between 0 and 1, those of env.kind=%s are not", c.Env.Kind), "use gaussian"
		}
		return "", ""
	}},
	{[]string{"model.switches", "model.weights"}, func(c *Config) (string, string) {
		if c.Model.Weights == "softmax" && c.Model.Switches < 2 {
			return "softmax weights of a single system are constant", "use at least 2, or model.weights=sigmoid"
		}
		return "", ""
	}},
	{[]string{"model.hard", "model.switching"}, func(c *Config) (string, string) {
		if c.Model.Hard && c.Model.Switching != "concrete" {
			return "only a concrete switch can be discrete in the forward pass", "set model.switching=concrete or model.hard=false"
		}
		return "", ""
	}},
	{[]string{"eval.rollout", "model.switching"}, func(c *Config) (string, string) {
		if c.Eval.Rollout == "mode" && c.Model.Switching != "concrete" {
			return "only a concrete switch has a most likely system", "use mean"
		}
		return "", ""
	}},
	{[]string{"eval.filter_window", "model.initial_observations"}, func(c *Config) (string, string) {
		if w := c.Eval.FilterWindow; w != 0 && w < c.Model.InitialObservations {
			return fmt.Sprintf("%d is shorter than the %d observations of the initial state", w, c.Model.InitialObservations), "0 filters the whole past"
		}
		return "", ""
	}},
	{[]string{"eval.filter_window", "env.length"}, func(c *Config) (string, string) {
		if w := c.Eval.FilterWindow; c.Env.Kind != "files" && w > c.Env.Length {
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
		if c.Env.Kind == "files" && c.Cluster.Credit < 2*c.Cluster.Chunk {
			return fmt.Sprintf("%d is less than two chunks (cluster.chunk=%d), one for gradients and one for the data set", c.Cluster.Credit, c.Cluster.Chunk), ""
		}
		return "", ""
	}},
}

// maxIntegerShards is quantize.MaxShards.
const maxIntegerShards = 256

// validate checks the rules and shows a fault where the user wrote one of its keys.
func (r *resolver) validate() {
next:
	for _, rule := range rules {
		for _, k := range rule.keys {
			if r.faulty[k] {
				continue next
			}
		}
		if message, hint := rule.fault(&r.config); message != "" {
			r.problems = append(r.problems, Problem{Origin: r.origins[r.culprit(rule.keys)], Key: rule.keys[0], Message: message, Hint: hint})
		}
	}
}

// culprit is the first of the keys that was not written by a preset.
func (r *resolver) culprit(keys []string) string {
	for _, k := range keys {
		if !r.origins[k].fromPreset() {
			return k
		}
	}
	return keys[0]
}

// sequence is the number of time steps of a training sequence.
func (c *Config) sequence() int {
	if c.Env.Window > 0 {
		return c.Env.Window
	}
	return c.Env.Length
}

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

// rounds checks that a number of updates is one of whole rounds of local steps.
func (c *Config) rounds(updates uint64) (message, hint string) {
	if c.Train.LocalSteps == 0 || c.Train.Method != "diloco" {
		return "", ""
	}
	return multiple(int(updates), int(c.Train.LocalSteps), "train.local_steps")
}

func powerBelow(n int) int {
	p := 1
	for 2*p <= n {
		p *= 2
	}
	return p
}
