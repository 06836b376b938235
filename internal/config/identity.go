package config

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// indifferent are the keys and sections that change no bit of the parameters after a step: how long the run is, what is
// measured beside it, how messages travel, where files lie (their content is env.hash) and what the configuration is
// called.
var indifferent = [...]string{
	"preset", "env.files", "train.steps", "train.validate_every", "train.validation_episodes", "train.checkpoint_every", "eval.", "cluster.",
}

// younger are keys that came after the first runs, with the value that these were made with: of that nothing is said, so that
// an identity stays what it was.
var younger = map[string]string{"train.gradients": "float32"}

// local are the keys that decide nothing in a synchronous run, which has the identity that it had before they were there.
var local = [...]string{"train.method", "train.replicas", "train.local_steps", "train.outer_rate", "train.outer_momentum"}

// decides reports whether a key decides the parameters' bits.
func (k Key) decides(c *Config) bool {
	if c.Train.Method != "diloco" && slices.Contains(local[:], k.Path) {
		return false
	}
	for _, other := range indifferent {
		if k.Path == other || strings.HasSuffix(other, ".") && strings.HasPrefix(k.Path, other) {
			return false
		}
	}
	return true
}

// Identity is the hex SHA-256 of the keys that decide the parameters' bits, one "path=value" per line: two runs with the
// same identity have the same parameters after the same number of steps. A key of younger is left out at its old value.
func (c Config) Identity() string {
	h := sha256.New()
	for _, k := range Keys() {
		if value := format(k.value(&c)); k.decides(&c) && (younger[k.Path] == "" || value != younger[k.Path]) {
			h.Write([]byte(k.Path + "=" + value + "\n"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Difference is a key that has two values.
type Difference struct {
	Key string `json:"key"`
	A   string `json:"a"`
	B   string `json:"b"`
}

// Differences lists the keys that decide the parameters' bits and differ between two configurations.
func Differences(a, b Config) []Difference {
	var list []Difference
	for _, k := range Keys() {
		if x, y := format(k.value(&a)), format(k.value(&b)); x != y && (k.decides(&a) || k.decides(&b)) {
			list = append(list, Difference{k.Path, x, y})
		}
	}
	return list
}
