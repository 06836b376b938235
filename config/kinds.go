package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Kind is a value that env.kind or model.kind may have, with the keys that only this kind has.
type Kind struct {
	Name, Doc string // the doc is one line

	// Settings returns a pointer to a new struct of the kind's keys, at their defaults. The keys belong to the section
	// env or model; those of a nested struct belong to a section with the name of the struct.
	Settings func() any
	// Check returns the faults between settings of a configuration of this kind; a nil Check finds none.
	Check func(c *Config) []setting.Fault

	// Ignored returns settings of a configuration of this kind that have no effect beside others, each with the reason,
	// beyond what the only tags say; a nil Ignored returns none.
	Ignored func(c *Config) []setting.Fault

	// Of model.kind. Decides returns the values of common keys that the settings of the kind decide; nil: none. Unused
	// are common keys, and sections of them, that mean nothing with the kind.
	Decides func(c *Config) []Decision
	Unused  []string

	Recorded bool // env.kind only: episodes are recorded, each with its own length, not simulated

	keys     []Key // the keys that only this kind has
	sections []Section
}

// Kinds are all values that env.kind and model.kind may have. A configuration is read with them. They do not
// change, and may be used concurrently.
type Kinds struct {
	env, model axis
	all        layout   // of all kinds
	pairs      sync.Map // from a pair, two names, to its layout
}

// A layout is the keys and the sections of a configuration, in the order in which YAML writes them. Nobody changes it.
type layout struct {
	keys     []Key
	sections []Section
}

// axis is one of the two keys that choose a kind.
type axis struct {
	root  root
	path  string // of the key that chooses: env.kind or model.kind
	kinds []Kind // in the order of their registration
}

// NewKinds returns the kinds that a configuration may name, in this order. It returns an error, with all that is
// wrong, if two kinds have the same name, if a key of a kind conflicts with another key, or if a kind or a key is
// described wrongly.
func NewKinds(env, model []Kind) (*Kinds, error) {
	k := &Kinds{env: axis{ofEnv, "env.kind", slices.Clone(env)}, model: axis{ofModel, "model.kind", slices.Clone(model)}}
	if err := errors.Join(k.env.check(), k.model.check()); err != nil {
		return nil, err
	}
	for _, a := range k.axes() {
		for i := range a.kinds {
			a.kinds[i].keys, a.kinds[i].sections = a.keys(a.kinds[i])
		}
	}
	k.all = k.lay(k.env.kinds, k.model.kinds)
	return k, nil
}

// pair is the names of an environment and a model.
type pair struct{ env, model string }

// of is the layout of a pair. Each configuration that is read asks for it dozens of times, so that it is kept. A
// name of no kind adds no keys.
func (k *Kinds) of(p pair) layout {
	if known, ok := k.pairs.Load(p); ok {
		return known.(layout)
	}
	env, model := k.env.find(p.env), k.model.find(p.model)
	l := k.lay([]Kind{env}, []Kind{model})
	if env.Name != "" && model.Name != "" { // otherwise the names are anybody's
		k.pairs.Store(p, l)
	}
	return l
}

func (k *Kinds) axes() [2]axis { return [2]axis{k.env, k.model} }

// section is the section with the keys of the kinds.
func (a axis) section() string { return strings.TrimSuffix(a.path, ".kind") }

// check returns all that is wrong with the kinds of an axis. Kinds of one axis may have keys of the same path,
// which the chosen kind decides; a path that every configuration has is taken.
func (a axis) check() error {
	var faults []error
	own, _ := commonKeys()
	seen := map[string]bool{}
	for _, kind := range a.kinds {
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Errorf("%s=%s: %w", a.path, kind.Name, fmt.Errorf(format, args...)))
		}
		if setting.Quote(kind.Name) != kind.Name || strings.ContainsAny(kind.Name, "/.") || seen[kind.Name] {
			fault("the name must be a word: a letter, then letters, digits, - or _")
		}
		seen[kind.Name] = true
		if t := reflect.TypeOf(kind.Settings()); t == nil || t.Kind() != reflect.Pointer ||
			t.Elem().Kind() != reflect.Struct {
			fault("its settings are of type %v: they must be a pointer to a struct", t)
			continue
		}
		if kind.Doc == "" || strings.Contains(kind.Doc, "\n") {
			fault("its doc must be one line")
		}
		paths := map[string]bool{}
		keys, _ := a.keys(kind)
		for _, k := range keys {
			if err := k.Check(); err != nil {
				fault("%w", err)
			}
			if paths[k.Path] || slices.ContainsFunc(own, func(o Key) bool { return o.Path == k.Path }) {
				fault("key %s exists already: give it another name", k.Path)
			}
			paths[k.Path] = true
		}
	}
	return errors.Join(faults...)
}

// find returns the kind of that name. If there is none, the kind that it returns has no name.
func (a axis) find(name string) Kind {
	for _, kind := range a.kinds {
		if kind.Name == name {
			return kind
		}
	}
	return Kind{}
}

// kind returns the kind that an entry chooses, and whether the entry chooses one. The kind has no name if the entry
// names none that exists.
func (k *Kinds) kind(e entry) (kind Kind, chooses bool) {
	for _, a := range k.axes() {
		if e.path == a.path {
			return a.find(e.text), true
		}
	}
	return Kind{}, false
}

func (a axis) names() []string {
	names := make([]string, len(a.kinds))
	for i, kind := range a.kinds {
		names[i] = kind.Name
	}
	return names
}

// keys lists the keys that only a kind has, and the sections that it adds.
func (a axis) keys(kind Kind) (keys []Key, sections []Section) {
	setting.Walk(kind.Settings(), a.section()+".", func(k setting.Key) {
		keys = append(keys, Key{Key: k, Kinds: []string{a.path + "=" + kind.Name}, root: a.root})
	}, func(s Section) { sections = append(sections, s) })
	return keys, sections
}

// choice describes the key that chooses a kind: its values are the names of the kinds, and its doc has a word on
// each.
func (a axis) choice(k Key) Key {
	k.Values = a.names()
	var docs []string
	for _, kind := range a.kinds {
		docs = append(docs, kind.Name+": "+kind.Doc)
	}
	k.Doc += "; " + strings.Join(docs, "; ")
	return k
}

// commonKeys lists the keys that every configuration has, with their sections, as the fields of Config describe
// them.
func commonKeys() (keys []Key, sections []Section) {
	setting.Walk(new(Config), "", func(k setting.Key) { keys = append(keys, Key{Key: k}) },
		func(s Section) { sections = append(sections, s) })
	return keys, sections
}

// lay lists the keys and the sections that configurations of these kinds have.
// A section that a kind adds follows the section of the kind. A key of several kinds is listed once.
func (k *Kinds) lay(env, model []Kind) layout {
	keys, sections := commonKeys()
	section := func(name string) int {
		return slices.IndexFunc(sections, func(s Section) bool { return s.Name == name })
	}
	key := func(path string) int { return slices.IndexFunc(keys, func(k Key) bool { return k.Path == path }) }
	for i, kinds := range [][]Kind{env, model} {
		a := k.axes()[i]
		for _, kind := range kinds {
			for _, s := range kind.sections {
				if section(s.Name) < 0 {
					sections = slices.Insert(sections, section(a.section())+1, s)
				}
			}
			for _, o := range kind.keys {
				if i := key(o.Path); i >= 0 {
					// The key is that of the first kind: its doc and range may differ in others.
					keys[i].Kinds = slices.Concat(keys[i].Kinds, o.Kinds)
					if keys[i].Only != o.Only { // what is true of one kind is not of all
						keys[i].Only = ""
					}
				} else {
					keys = append(keys, o)
				}
			}
		}
	}
	for _, a := range k.axes() {
		i := key(a.path)
		keys[i] = a.choice(keys[i])
	}
	slices.SortStableFunc(keys, func(a, b Key) int { return section(a.Section()) - section(b.Section()) })
	return layout{keys, sections}
}

// Keys lists every key of any configuration, in the order of YAML. Callers must not change the list.
func (k *Kinds) Keys() []Key { return k.all.keys }

// Families are the names of the families of models, the values of model.kind.
func (k *Kinds) Families() []string { return k.model.names() }

// Has reports whether there is a key for a kind, such as model.kind=slds.
func (k *Kinds) Has(path, kind string) bool {
	return slices.ContainsFunc(k.all.keys, func(key Key) bool {
		return key.Path == path && (len(key.Kinds) == 0 || slices.Contains(key.Kinds, kind))
	})
}

// Sections lists every section of any configuration. Callers must not change the list.
func (k *Kinds) Sections() []Section { return k.all.sections }

// isSection reports whether any configuration has a section of that name.
func (k *Kinds) isSection(name string) bool {
	return slices.ContainsFunc(k.Sections(), func(s Section) bool { return s.Name == name })
}

// A foreigner is a key of a kind that was not chosen, as an entry of a configuration names it.
type foreigner struct {
	Key
	kind   string // path=name
	chosen string // of the same axis
	same   bool   // text is the default of the key in that kind
}

// foreign returns the kinds that have a key and were not chosen in c, and whether text is the key's default there.
func (k *Kinds) foreign(c *Config, path, text string) []foreigner {
	var list []foreigner
	for i, chosen := range []string{c.Env.Kind, c.Model.Kind} {
		a := k.axes()[i]
		for _, kind := range a.kinds {
			for _, key := range kind.keys {
				if key.Path != path || kind.Name == chosen {
					continue
				}
				// Compared as texts, so that two spellings of one value are the same.
				written, usual := kind.Settings(), kind.Settings()
				fault, _ := key.Assign(written, text)
				list = append(list, foreigner{key, a.path + "=" + kind.Name, a.path + "=" + chosen, fault == "" &&
					key.Format(written) == key.Format(usual)})
			}
		}
	}
	return list
}
