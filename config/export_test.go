package config

// For tests in config_test, which read files with the kinds of package registry.

const MaxDocument = maxDocument

// PresetPaths lists the keys that a preset sets.
func (k *Kinds) PresetPaths(name string) []string {
	entries, _ := k.presetEntries(name)
	var paths []string
	for _, e := range entries {
		paths = append(paths, e.path)
	}
	return paths
}

// Keys lists the keys of a configuration.
func (r *Resolved) Keys() []Key { return r.Config.keys() }
