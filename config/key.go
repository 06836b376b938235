package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Key describes one key of the tree: where it is, what it may be, and which configurations have it.
type Key struct {
	setting.Key
	Kinds []string // "env.kind=maze" and the like: the kinds that have the key; empty: every configuration has it

	root root
}

// Section describes a group of keys.
type Section = setting.Section

// presetKey names the preset that a file is based on. Other layers cannot set it.
const presetKey = "preset"

// root names the struct that holds a key: the configuration itself, or the settings of a kind.
type root uint8

// ofAll is the configuration; ofEnv and ofModel are its Env.Settings and Model.Settings.
const (
	ofAll root = iota
	ofEnv
	ofModel
)

// settings is a pointer to the struct that a root names; nil if its kind does not exist.
func (c *Config) settings(r root) any {
	switch r {
	case ofEnv:
		return c.Env.Settings
	case ofModel:
		return c.Model.Settings
	default:
		return c
	}
}

// assign sets the key of a configuration, as setting.Key.Assign does. It changes settings that copies of c share.
func (k Key) assign(c *Config, text string) (fault, hint string) {
	return k.Assign(c.settings(k.root), text)
}

func (k Key) format(c *Config) string { return k.Format(c.settings(k.root)) }

// Variable is the name of the environment variable that sets the key.
func (k Key) Variable() string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(k.Path, ".", "_"))
}

// Value is the value of a key, by its path, as assign takes it: without the quotation marks that a file needs. It is
// false of a key that the configuration does not have.
func (c Config) Value(path string) (string, bool) {
	for _, k := range c.keys() {
		if k.Path == path {
			return unquoted(k.format(&c)), true
		}
	}
	return "", false
}

// unquoted is the text of a value that format has written.
func unquoted(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}

// matters reports whether the key has an effect with the other values of the configuration: the family of models
// has a use for it, another key has the value of its tag only, if it has one, and something ends at the update that
// it holds, if it holds one.
func (k Key) matters(c *Config, keys []Key) bool {
	if c.unused(k) || !c.ends(k.Path, keys) {
		return false
	}
	if k.Only == "" {
		return true
	}
	return slices.ContainsFunc(keys, func(o Key) bool { return o.Path+"="+o.format(c) == k.Only })
}

// ends reports whether something ends at the update that a key holds. Of keys that hold no such update it is true.
func (c *Config) ends(path string, keys []Key) bool {
	// Keys with this one as their tag ends, such as optim.schedule for train.horizon. One at the value of its tag
	// was ends nothing.
	held := false
	for _, k := range keys {
		if k.Ends != path {
			continue
		}
		held = true
		if k.format(c) != k.Was && k.matters(c, keys) {
			return true
		}
	}
	return !held
}

// keys lists the keys of a configuration: those of every configuration, and those of its kinds. The list is read-only.
func (c *Config) keys() []Key { return c.layout().keys }

// layout is that of the kinds that were chosen; of kinds that do not exist it has no keys of their own.
func (c *Config) layout() layout { return c.kinds.of(pair{c.Env.Kind, c.Model.Kind}) }

// Recorded reports whether episodes are recorded rather than simulated, as those of env.kind=files are.
func (c *Config) Recorded() bool { return c.kinds.env.find(c.Env.Kind).Recorded }

// Kinds are the kinds that the configuration was read with.
func (c Config) Kinds() *Kinds { return c.kinds }
