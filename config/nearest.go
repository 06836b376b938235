package config

import (
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// synonyms maps names from other trainers, which users try first, to the keys of this one.
var synonyms = map[string]string{
	"lr": "optim.rate", "learning_rate": "optim.rate", "lr_decay": "optim.decay", "grad_clip": "optim.clip",
	"batch_size": "train.batch", "iterations": "train.steps", "max_iterations": "train.steps", "num_steps": "train.steps",
	"latent_dim": "model.latent", "nz": "model.latent", "num_states": "model.switches", "k": "model.switches",
	"dataset": "env.kind", "env_name": "env.kind", "beta": "anneal.kl_switch", "temperature": "anneal.posterior",
}

// nearestKey finds the key that an unknown path may mean: the same name in another section, a synonym, or the key
// with the fewest edits, by its path or else by its name. It is empty if none is near.
func nearestKey(path string, keys []Key) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	paths, words := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		paths[i], words[i] = key.Path, key.Name()
	}
	for _, ofKinds := range []bool{false, true} { // a key of every configuration is more likely
		for _, k := range keys {
			if k.Name() == name && k.Path != presetKey && len(k.Kinds) > 0 == ofKinds {
				return k.Path
			}
		}
	}
	if target, ok := synonyms[strings.ToLower(name)]; ok && slices.Contains(paths, target) {
		return target
	}
	if near := setting.Nearest(path, paths); near != "" {
		return near
	}
	if near := setting.Nearest(name, words); near != "" {
		return paths[slices.Index(words, near)]
	}
	return ""
}
