package config

import (
	"slices"
	"strings"
)

// synonyms maps names that users of other trainers try first.
var synonyms = map[string]string{
	"lr": "optim.rate", "learning_rate": "optim.rate", "lr_decay": "optim.decay", "grad_clip": "optim.clip",
	"batch_size": "train.batch", "iterations": "train.steps", "max_iterations": "train.steps", "num_steps": "train.steps",
	"latent_dim": "model.latent", "nz": "model.latent", "num_states": "model.switches", "k": "model.switches",
	"dataset": "env.kind", "env_name": "env.kind", "beta": "anneal.kl_switch", "temperature": "anneal.posterior",
}

// Nearest returns the candidate with the fewest edits from word, or "" where
// none is close enough to be meant. Of equally near ones the first wins.
func Nearest(word string, candidates []string) string {
	best, fewest := "", max(1, min(3, len(word)/2))+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < fewest {
			best, fewest = c, d
		}
	}
	return best
}

// nearestKey looks for the key meant by an unknown path: the same name in another
// section, a synonym, or the fewest edits.
func nearestKey(path string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	keys := Keys()
	paths := make([]string, len(keys))
	for i, k := range keys {
		paths[i] = k.Path
	}
	if i := slices.IndexFunc(keys, func(k Key) bool { return k.name() == name && k.Path != presetKey }); i >= 0 {
		return paths[i]
	}
	if target, ok := synonyms[strings.ToLower(name)]; ok {
		return target
	}
	if near := Nearest(path, paths); near != "" {
		return near
	}
	return nearestName(name, keys)
}

func nearestName(name string, keys []Key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name()
	}
	if near := Nearest(name, names); near != "" {
		return keys[slices.Index(names, near)].Path
	}
	return ""
}

// distance counts the edits between a and b: insertion, deletion, substitution
// and exchange of neighbours (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitution := last[j-1]
			if a[i-1] != b[j-1] {
				substitution++
			}
			row[j] = min(last[j]+1, row[j-1]+1, substitution)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
