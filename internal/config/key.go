package config

import (
	"slices"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Key describes one key of the tree.
type Key struct {
	setting.Key
	Kinds []string // "env.kind=maze" and the like: the kinds that have it; empty: all configurations have it

	root root
}

// Section describes a group of keys.
type Section = setting.Section

// presetKey names the base of a file; it can be written nowhere else.
const presetKey = "preset"

// root is the struct that holds a key: the tree's own, or the settings of a kind.
type root uint8

const (
	ofAll root = iota
	ofEnv
	ofModel
)

// settings is the struct of a root.
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

// matters reports whether the key has an effect beside the others of the configuration.
func (k Key) matters(c *Config, keys []Key) bool {
	if k.Only == "" {
		return true
	}
	return slices.ContainsFunc(keys, func(o Key) bool { return o.Path+"="+o.format(c) == k.Only })
}

// keys lists the keys of a configuration, those that all have and those of its kinds.
func (c *Config) keys() []Key {
	keys, _ := c.tree()
	return keys
}

// tree lists the keys of a configuration, and its sections, in the order in which they are written.
func (c *Config) tree() ([]Key, []Section) {
	return c.kinds.lay([]Kind{c.kinds.env.find(c.Env.Kind)}, []Kind{c.kinds.model.find(c.Model.Kind)})
}

// Recorded reports whether episodes are recorded rather than simulated.
func (c *Config) Recorded() bool { return c.kinds.env.find(c.Env.Kind).Recorded }

// Kinds are what the configuration was read with.
func (c Config) Kinds() *Kinds { return c.kinds }
