package config

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// An identity says that two runs compute the same bits. It must stay the same when keys are added: a run that was
// begun by an older release is continued by a younger one.

// firstKeys are the keys that decided the bits of a run when identities were first written, in the order of that time.
// Those runs must keep their identity, so every identity has these lines in this order. A key that the chosen kinds do
// not have is written with the value that it had at that time (absent). A key without such a value is written only if
// it differs from what older runs did; younger keys follow the same rule.
var firstKeys = [...]struct{ path, absent string }{
	{"seed", "0"},
	{"env.kind", "fhn"},
	{"env.episodes", "1"},
	{"env.length", "4"},
	{"env.window", "0"},
	{"env.dt", "0"},
	{"env.variant", "a"},
	{"env.balls", "0"},
	{"env.walls", "false"},
	{"env.observations", "0"},
	{"env.controls", "0"},
	{"env.normalise", "auto"},
	{"env.validation", "0.1"},
	{"env.test", "0.1"},
	{"env.hash", `""`},
	{"model.kind", "slds"},
	{"model.switching", "concrete"},
	{"model.weights", "softmax"},
	{"model.latent", "4"},
	{"model.switches", "8"},
	{"model.hidden", "128"},
	{"model.blocks", "0"},
	{"model.encoder_hidden", "0"},
	{"model.measurement", "lstm"},
	{"model.measurement_controls", "true"},
	{"model.initial_observations", "3"},
	{"model.emission", "gaussian"},
	{"model.emission_sd", "state"},
	{"model.residual", "true"},
	{"model.gate", "true"},
	{"model.hard", "false"},
	{"model.kl_samples", "10"},
	{"model.variance_floor", "1e-05"},
	{"optim.rate", "0"},
	{"optim.decay", "0"},
	{"optim.decay_every", "0"},
	{"optim.clip", "0"},
	{"optim.beta1", "0"},
	{"optim.beta2", "0"},
	{"optim.epsilon", "0"},
	{"anneal.posterior", "0.67"},
	{"anneal.prior", "2"},
	{"anneal.start", "10"},
	{"anneal.rate", "0.95"},
	{"anneal.every", "100"},
	{"anneal.kl_switch", "0.1"},
	{"train.batch", "1"},
	{"train.shards", "1"},
	{"train.gradients", ""},
	{"train.method", ""},
	{"train.replicas", ""},
	{"train.local_steps", ""},
	{"train.outer_rate", ""},
	{"train.outer_momentum", ""},
}

// decides reports whether the key can change a bit of a result. Keys of the evaluation and of the message path
// cannot, and those with the tag bits:"same" do not.
func (k Key) decides() bool {
	return k.Bits != "same" && k.Section() != "eval" && k.Section() != "cluster"
}

// Identity is the hex SHA-256 of the values that decide the bits of a run: those of the keys that all runs have, and
// those of the keys of the chosen kinds. Three sorts of keys leave it unchanged: keys of other kinds, keys without
// effect beside the others, and keys that are younger than the run if they have the value that runs had before.
func (c Config) Identity() string {
	keys := c.keys()
	// The values that are not written yet. What is left after the first keys is younger than they.
	value := map[string]string{}
	for _, k := range keys {
		if k.decides() {
			value[k.Path] = k.format(&c)
		}
	}
	// A younger key at the value that runs had before it is not written, so that they keep their identity.
	differs := func(k Key) bool { return k.decides() && k.matters(&c, keys) && k.format(&c) != k.Was }
	h := sha256.New()
	line := func(path, value string) { h.Write([]byte(path + "=" + value + "\n")) }
	for _, first := range firstKeys {
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Path == first.path })
		switch {
		case i < 0 && first.absent != "":
			line(first.path, first.absent)
		case i >= 0 && (first.absent != "" || differs(keys[i])):
			line(first.path, value[first.path])
		}
		delete(value, first.path)
	}
	byPath := func(a, b Key) int { return strings.Compare(a.Path, b.Path) }
	for _, k := range slices.SortedFunc(slices.Values(keys), byPath) {
		if _, younger := value[k.Path]; younger && differs(k) {
			line(k.Path, value[k.Path])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Difference is a key with the values that it has in two configurations, as files have them.
type Difference struct {
	Key string `json:"key"`
	A   string `json:"a"`
	B   string `json:"b"`
}

// Differences lists the keys that decide bits and differ, in the order of the tree. If one configuration lacks the key,
// its value is empty.
func Differences(a, b Config) []Difference {
	return a.differ(b, func(k Key, c *Config, keys []Key) bool { return k.decides() && k.matters(c, keys) })
}

// AllDifferences lists the keys that have an effect and differ, including those that decide no bits.
func AllDifferences(a, b Config) []Difference { return a.differ(b, Key.matters) }

// differ lists the keys that count in at least one of two configurations and do not have the same value in both.
func (c Config) differ(o Config, counts func(k Key, c *Config, keys []Key) bool) []Difference {
	var list []Difference
	ours, theirs := c.keys(), o.keys()
	text := func(path string, c *Config, keys []Key) (value string, counted bool) {
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Path == path })
		if i < 0 {
			return "", false
		}
		return keys[i].format(c), counts(keys[i], c, keys)
	}
	seen := map[string]bool{}
	// Keys that both have come once, in the order of the first; those of the second alone follow.
	for _, k := range slices.Concat(ours, theirs) {
		x, countsHere := text(k.Path, &c, ours)
		y, countsThere := text(k.Path, &o, theirs)
		if x != y && (countsHere || countsThere) && !seen[k.Path] {
			list = append(list, Difference{k.Path, x, y})
		}
		seen[k.Path] = true
	}
	return list
}
