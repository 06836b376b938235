package config

import (
	"slices"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Key describes one key of the tree.
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

const (
	ofAll root = iota
	ofEnv
	ofModel
)

// settings is the struct that a root names.
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

func (k Key) assign(c *Config, text string) (fault, hint string) {
	return k.Assign(c.settings(k.root), text)
}

func (k Key) format(c *Config) string { return k.Format(c.settings(k.root)) }

// matters reports whether the key has an effect with the other values of the configuration.
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

// layout is that of the kinds that were chosen.
func (c *Config) layout() layout { return c.kinds.of(pair{c.Env.Kind, c.Model.Kind}) }

// Recorded reports whether episodes are recorded rather than simulated.
func (c *Config) Recorded() bool { return c.kinds.env.find(c.Env.Kind).Recorded }

// Kinds are the kinds that the configuration was read with.
func (c Config) Kinds() *Kinds { return c.kinds }
