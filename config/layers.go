package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Each source becomes a layer: a list of entries, which say what was written and where. finish applies the layers
// one over the other, and collects the problems of all of them.

// Prefix begins the name of every environment variable that sets a key: SWITCHYARD_OPTIM_RATE sets optim.rate.
const Prefix = "SWITCHYARD_"

// File is a configuration file that the caller has read.
type File struct {
	Name string // for messages
	Data []byte
}

// Sources are the layers of a configuration, the lowest first.
type Sources struct {
	Preset      string   // "": the preset that the files name, or DefaultPreset
	Files       []File   // later files override earlier ones
	Environment []string // NAME=value; words without Prefix are ignored
	Arguments   []string // key=value; later arguments override earlier ones
}

// Resolved is a configuration together with the place where each value was written.
type Resolved struct {
	Config Config

	origins map[string]Origin
	// The variables that have set a key.
	environment []string
}

// Environment lists the variables that set a key, as NAME=value, sorted by name.
func (r *Resolved) Environment() []string { return r.environment }

// Resolve combines the layers. The error is an *Error with every problem found in any layer. It reads no files and
// no environment but those of s, and may be called concurrently.
func (k *Kinds) Resolve(s Sources) (*Resolved, error) {
	r := k.resolver()
	// The files are read first: they may name the preset.
	var files layer
	for _, f := range s.Files {
		files.add(k.parseDocument(f.Name, f.Data))
	}
	return r.finish(false, r.base(s.Preset, files.entries), files, r.environment(s.Environment), r.arguments(s.Arguments))
}

// Parse reads a resolved configuration that YAML has written. A key that is missing, because it is younger than the
// file, gets the value that runs had before it, if it tells one, or its default. The name of the preset is not looked
// up.
func (k *Kinds) Parse(name string, data []byte) (Config, error) {
	r := k.resolver()
	var base, written layer
	base.add(k.presetEntries(BasePreset))
	own, _ := commonKeys() // keys of kinds have the defaults of their kind
	base.entries = slices.DeleteFunc(base.entries, func(e entry) bool {
		return !slices.ContainsFunc(own, func(k Key) bool { return k.Path == e.path })
	})
	// The file comes over the base preset, as far as that has common keys.
	written.add(k.parseDocument(name, data))
	r.config.Preset = DefaultPreset
	for _, e := range written.entries {
		if e.path == presetKey {
			r.config.Preset = e.text
			if setting.Quote(e.text) != e.text {
				written.problems = append(written.problems, Problem{
					Origin: e.origin, Key: presetKey,
					Message: fmt.Sprintf("%q is not the name of a preset", e.text),
				})
			}
		}
	}
	resolved, err := r.finish(true, base, written)
	if err != nil {
		return Config{}, err
	}
	return resolved.Config, nil
}

// layer is the content of one source, with the problems found while reading it.
type layer struct {
	entries  []entry
	problems []Problem
}

// add appends what parseDocument has found.
func (l *layer) add(entries []entry, problems []Problem) {
	l.entries, l.problems = append(l.entries, entries...), append(l.problems, problems...)
}

// resolver makes one configuration of layers, and collects what is wrong with them. finish says in which order.
type resolver struct {
	config Config
	// Where the value that counts was written; a key that no layer has is missing.
	origins  map[string]Origin
	faulty   map[string]bool // keys whose written value was refused
	used     []string        // environment variables that set a key
	problems []Problem

	preferred map[string]bool // keys of which a preset knows better than what its settings choose
}

// resolver returns a resolver whose configuration has no kind chosen and no key set.
func (k *Kinds) resolver() *resolver {
	return &resolver{
		config: Config{kinds: k}, origins: map[string]Origin{}, faulty: map[string]bool{}, preferred: map[string]bool{},
	}
}

// finish applies the layers to the defaults, later layers over earlier ones, and checks the result. The first layer is
// the base of a new configuration, or of one that is read back.
func (r *resolver) finish(back bool, layers ...layer) (*Resolved, error) {
	// The kinds decide which keys exist, so that they are chosen first, by all layers.
	for _, l := range layers {
		r.choose(l.entries)
	}
	if !back {
		r.prefer(layers)
	}
	// Then every key gets its value, and the problems of each layer join those of the layers before.
	for _, l := range layers {
		r.problems = append(r.problems, l.problems...)
		r.applyAll(l.entries)
	}
	if back {
		r.asBefore()
	}
	// What follows looks at several keys at a time, and needs the values of all.
	r.decide(layers[0], back)
	r.plan()
	r.validate()
	if !back {
		r.ignored(layers[0])
	}
	if len(r.problems) > 0 {
		return nil, &Error{Problems: r.problems}
	}
	return &Resolved{Config: r.config, origins: r.origins, environment: r.used}, nil
}

// asBefore gives each key that a configuration lacks, because it is younger than its run, the value that runs had
// before.
func (r *resolver) asBefore() {
	for _, k := range r.config.keys() {
		if _, written := r.origins[k.Path]; !written && k.Was != "" {
			k.assign(&r.config, unquoted(k.Was))
		}
	}
}

// plan lets schedules end with the run where the configuration does not say when. The value is written down, so that a
// run of more or fewer updates goes along the same schedules.
func (r *resolver) plan() {
	c := &r.config
	if c.Env.Settings != nil && c.Model.Settings != nil && c.Train.Horizon == 0 && c.ends("train.horizon", c.keys()) {
		c.Train.Horizon = c.Train.Steps
	}
}

// base is the preset that the command or the files name, with the presets that it is based on. Two different names
// are a problem, and so is a name that is none; the check of the rest then goes on with the default preset.
func (r *resolver) base(name string, files []entry) layer {
	var base layer
	origin := Origin{}
	for _, s := range files {
		if s.path != presetKey {
			continue
		}
		if name != "" && name != s.text {
			base.problems = append(base.problems, Problem{
				Origin: s.origin, Key: presetKey, Message: fmt.Sprintf("%q, but %q is named already", s.text, name),
				Hint: "keep one base",
			})
			continue
		}
		name, origin = s.text, s.origin
	}
	name = cmp.Or(name, DefaultPreset)
	entries, problems := r.config.kinds.presetEntries(name)
	for i := range problems {
		if problems[i].Origin == (Origin{}) {
			problems[i].Origin = origin
		}
	}
	if len(entries) == 0 { // unknown: the check continues with the default preset
		entries, _ = r.config.kinds.presetEntries(DefaultPreset)
	}
	base.add(entries, problems)
	r.config.Preset = name
	r.origins[presetKey] = origin
	return base
}

// choose sets the kinds, because they decide which other keys exist. The last entry that names an existing kind
// decides.
func (r *resolver) choose(entries []entry) {
	c := &r.config
	for _, e := range entries {
		kind, ok := c.kinds.kind(e)
		switch {
		case !ok || kind.Settings == nil:
		case e.path == c.kinds.env.path:
			c.Env.Kind, c.Env.Settings = kind.Name, kind.Settings()
		default:
			c.Model.Kind, c.Model.Settings = kind.Name, kind.Settings()
		}
	}
}

// applyAll assigns entries over what the configuration has. A value that is refused is a problem and leaves the key
// as it was; a later layer that sets the key well makes it sound again, but the problem stays.
func (r *resolver) applyAll(entries []entry) {
	keys := r.config.keys()
	for _, e := range entries {
		if e.path == presetKey {
			continue
		}
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Path == e.path })
		if i < 0 {
			r.applyForeign(e, keys)
			continue
		}
		if kind, _ := r.config.kinds.kind(e); kind.Settings != nil { // choose has set it
			r.origins[e.path] = e.origin
			continue
		}
		if fault, hint := keys[i].assign(&r.config, e.text); fault != "" {
			r.faulty[e.path] = true
			r.problems = append(r.problems, Problem{Origin: e.origin, Key: e.path, Message: fault, Hint: hint})
			continue
		}
		r.origins[e.path] = e.origin
		delete(r.faulty, e.path)
	}
}

// retired are keys that older releases wrote into files, each with what holds since. They decided no bits.
var retired = map[string]string{"eval.inference": "each rollout has its own pass of inference"}

// applyForeign handles a key that the configuration does not have. A key of another kind has no effect: a preset may
// contain it, and so may a file that has every key at its default. Nor has a key that is retired, in a file.
func (r *resolver) applyForeign(e entry, keys []Key) {
	if since, ok := retired[e.path]; ok {
		if e.origin.Line == 0 {
			r.problems = append(r.problems, Problem{
				Origin: e.keyAt, Key: e.path, Message: "there is no such key any more", Hint: "leave it out: " + since,
			})
		}
		return
	}
	others := r.config.kinds.foreign(&r.config, e.path, e.text)
	if len(others) > 0 && (e.origin.fromPreset() || slices.ContainsFunc(others,
		func(o foreigner) bool { return o.same })) {
		return
	}
	if len(others) == 0 {
		p, _ := r.config.kinds.unknownKey(e.path, e.keyAt, keys)
		r.problems = append(r.problems, p)
		return
	}
	var words []string
	for _, o := range others {
		name := o.kind
		if _, kind, _ := strings.Cut(o.kind, "="); slices.Contains(presetNames(), kind) {
			name += " as the preset " + kind + " does"
		}
		words = append(words, name)
	}
	r.problems = append(r.problems, Problem{
		Origin: e.keyAt, Key: e.path, Message: others[0].chosen + " has no such key",
		Hint: "leave it out, or choose " + strings.Join(words, " or "),
	})
}

// unknownKey is the problem of a path that is not in keys, with the key or section that was probably meant; false
// if the path is in keys.
func (k *Kinds) unknownKey(path string, at Origin, keys []Key) (Problem, bool) {
	if slices.ContainsFunc(keys, func(k Key) bool { return k.Path == path }) {
		return Problem{}, false
	}
	p := Problem{Origin: at, Key: path, Message: "unknown key"}
	section, _, dotted := strings.Cut(path, ".")
	// Where the user probably was: the keys of the section that is named, and the sections.
	var words, sections []string
	for _, k := range keys {
		if k.Section() == section {
			words = append(words, k.Name())
		}
	}
	for _, s := range k.Sections() {
		sections = append(sections, s.Name)
	}
	near := nearestKey(path, keys)
	if within := setting.Nearest(path, sections); !dotted && within != "" {
		near = within
	}
	switch {
	case k.isSection(path):
		p.Message, p.Hint = "a section, not a key", "it has the keys "+strings.Join(words, ", ")
	case near != "":
		p.Hint = "did you mean " + near + "?"
	case dotted && len(words) > 0:
		p.Hint = section + " has the keys " + strings.Join(words, ", ")
	default:
		p.Hint = "the sections are " + strings.Join(sections, ", ")
	}
	return p, true
}

// environment turns SWITCHYARD_OPTIM_RATE=1e-3 into a setting. A name that is no key is a problem if it is similar to a
// key or begins like one. Other names belong to other programs: an orchestrator may set SWITCHYARD_SERVICE_HOST.
func (r *resolver) environment(variables []string) layer {
	paths := map[string]string{}
	var words []string
	for _, k := range r.config.kinds.Keys() {
		paths[k.Variable()], words = k.Path, append(words, k.Variable())
	}
	// Problems come in the same order, however the environment is sorted.
	sorted := slices.Sorted(slices.Values(variables))
	var l layer
	for _, v := range sorted {
		name, text, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, Prefix) {
			continue
		}
		at := Origin{Name: name}
		near := setting.Nearest(name, words)
		switch path, known := paths[name]; {
		case path == presetKey:
			l.problems = append(l.problems, Problem{
				Origin: at, Message: "the preset is named by the command or the file",
				Hint: "unset it",
			})
		case known:
			l.entries = append(l.entries, entry{path: path, text: text, origin: at, keyAt: at})
			r.used = append(r.used, v)
		case near != "":
			l.problems = append(l.problems, Problem{Origin: at, Message: "sets no key", Hint: "did you mean " + near + "?"})
		}
	}
	return l
}

// arguments turns key=value arguments into settings. A value may have further signs of equality. An argument
// without one, and one that names a preset, are problems.
func (r *resolver) arguments(arguments []string) layer {
	var l layer
	for _, a := range arguments {
		path, text, found := strings.Cut(a, "=")
		at := Origin{Name: fmt.Sprintf("argument %q", a)}
		switch {
		case !found:
			l.problems = append(l.problems, Problem{Origin: at, Message: "expected key=value", Hint: "e.g. optim.rate=1e-3"})
		case path == presetKey:
			l.problems = append(l.problems, Problem{
				Origin: at, Message: "the preset is the first argument",
				Hint: "write " + text + " alone, before the others",
			})
		default:
			l.entries = append(l.entries, entry{path: path, text: text, origin: at, keyAt: at})
		}
	}
	return l
}
