package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// A key may be decided by the chosen kinds (decide), may have no use with them (unused), or may have no effect
// beside the values of other keys (matters, in key.go). What a user writes against the first two, or without
// effect, is a problem; what a preset writes is none.

// Decision is the value that a kind gives to a key that all configurations have, or to one of its own.
type Decision struct {
	// Path of the key, and its value as a file has it.
	Key, Value string
	// By is the key of the kind that the value follows. Where it is empty, the value is a default in place of that of
	// the kind, or of a preset that was written without it (see prefer), and what a user writes counts. A configuration
	// that is read back takes no such default.
	By string
}

// unused reports whether a key that all configurations have means nothing with this kind.
func (k Kind) unused(path string) bool {
	section, _, _ := strings.Cut(path, ".")
	return slices.Contains(k.Unused, path) || slices.Contains(k.Unused, section)
}

// unused reports whether a key has no effect with the kinds of the configuration.
func (c *Config) unused(k Key) bool {
	return k.root == ofAll && c.kinds.model.find(c.Model.Kind).unused(k.Path)
}

// Uses reports whether the family of the configuration's model has a use for a key that all configurations have. One
// that it has no use for keeps the value of the preset.
func (c Config) Uses(path string) bool { return !c.kinds.model.find(c.Model.Kind).unused(path) }

// decide gives common keys the values that the chosen family of models decides. A user's value of such a key that
// differs is a problem, and so is one of a key that the family has no use for. In a configuration that is read back the
// latter is none: it may be what the preset of that time had.
func (r *resolver) decide(base layer, back bool) {
	// Kinds without decisions, and a configuration whose kinds do not exist, are left as they are.
	c := &r.config
	kind := c.kinds.model.find(c.Model.Kind)
	if kind.Decides == nil && len(kind.Unused) == 0 || c.Env.Settings == nil || c.Model.Settings == nil {
		return
	}
	keys := c.keys()
	if kind.Decides != nil {
		for _, d := range kind.Decides(c) {
			if back && d.By == "" {
				continue // a key that it lacks is younger than its run
			}
			r.settle(keys[slices.IndexFunc(keys, func(k Key) bool { return k.Path == d.Key })], d)
		}
	}
	if back {
		return
	}
	for _, k := range keys {
		// A value that the preset has, too, was not meant as one of the user's.
		if c.unused(k) && r.changed(k, base) {
			r.faulty[k.Path] = true
			r.problems = append(r.problems, Problem{
				Origin: r.origins[k.Path], Key: k.Path, Message: fmt.Sprintf("model.kind=%s has no use for it", kind.Name),
				Hint: "leave it out",
			})
		}
	}
}

// settle gives a key the value that was decided. A default stays out of the way of a value that a user or a knowing
// preset wrote; a value that follows another key does not: a user's different value is a problem. A key with a
// problem is left alone.
func (r *resolver) settle(k Key, d Decision) {
	at, was := r.origins[k.Path], k.format(&r.config)
	written := at != (Origin{}) && !at.fromPreset()
	if d.By == "" && (written || r.preferred[k.Path]) || r.faulty[k.Path] {
		return
	}
	// The value is out of the range of its key: the fault lies in the key that decides.
	if fault, _ := k.assign(&r.config, d.Value); fault != "" {
		r.fault(setting.Fault{Keys: []string{d.By, k.Path}, Message: fmt.Sprintf("%s would be %s: %s", k.Path, d.Value,
			fault)})
		return
	}
	if value := k.format(&r.config); written && was != value {
		r.faulty[k.Path] = true
		r.problems = append(r.problems, Problem{
			Origin: at, Key: k.Path, Message: fmt.Sprintf("%s decides it: it is %s with model.kind=%s", d.By, value,
				r.config.Model.Kind),
			Hint: fmt.Sprintf("leave it out, and set %s", d.By),
		})
	}
}

// changed reports whether a user wrote another value of a key than the base has, and for a key of a kind another one
// than its default.
func (r *resolver) changed(k Key, base layer) bool {
	at := r.origins[k.Path]
	if at == (Origin{}) || at.fromPreset() || r.faulty[k.Path] {
		return false
	}
	// usual becomes what the key would be without the user: the defaults of the kinds, and the entries of the base
	// over them.
	usual := Config{kinds: r.config.kinds}
	usual.Env.Settings = usual.kinds.env.find(r.config.Env.Kind).Settings()
	usual.Model.Settings = usual.kinds.model.find(r.config.Model.Kind).Settings()
	written := k.format(&r.config)
	if k.root != ofAll && k.format(&usual) == written {
		return false
	}
	for _, e := range base.entries {
		if e.path == k.Path {
			k.assign(&usual, e.text)
		}
	}
	return k.format(&usual) != written
}

// ignored reports the keys that a user changed although they have no effect beside the others. What a preset says of
// them is no problem: it says it for other choices. A key about which there is a problem already is left out.
func (r *resolver) ignored(base layer) {
	c := &r.config
	if c.Env.Settings == nil || c.Model.Settings == nil {
		return
	}
	var faults []setting.Fault
	for _, kind := range []Kind{c.kinds.env.find(c.Env.Kind), c.kinds.model.find(c.Model.Kind)} {
		if kind.Ignored != nil {
			faults = append(faults, kind.Ignored(c)...)
		}
	}
	faults = append(faults, c.ignoredOutlier()...)
	keys := c.keys()
	for _, k := range keys {
		switch other, _, _ := strings.Cut(k.Only, "="); {
		case k.matters(c, keys) || c.unused(k):
		case k.Only == "":
			faults = append(faults, setting.Faultf([]string{k.Path}, "leave it out",
				"it has no effect: no schedule of this run ends"))
		default:
			faults = append(faults, setting.Faultf([]string{k.Path, other}, "leave it out, or set "+k.Only,
				"it has no effect without %s", k.Only))
		}
	}
	for _, f := range faults {
		k := keys[slices.IndexFunc(keys, func(k Key) bool { return k.Path == f.Keys[0] })]
		// A value that is refused already is not called useless as well.
		told := slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Key == k.Path })
		if !told && r.changed(k, base) {
			r.problems = append(r.problems, Problem{Origin: r.origins[k.Path], Key: k.Path, Message: f.Message, Hint: f.Hint})
		}
	}
}
