package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Prefix starts the name of every environment variable that sets a key: optim.rate
// is SWITCHYARD_OPTIM_RATE.
const Prefix = "SWITCHYARD_"

// File is a configuration file as its caller read it.
type File struct {
	Name string // as messages should show it
	Data []byte
}

// Sources are the layers of a configuration, the first below the others.
type Sources struct {
	Preset      string   // "": what the files name, else DefaultPreset
	Files       []File   // later ones win
	Environment []string // NAME=value; names without Prefix are ignored
	Arguments   []string // key=value; later ones win
}

// Resolved is a configuration with the place where each value was written.
type Resolved struct {
	Config Config

	origins     map[string]Origin
	environment []string
}

// Environment lists the variables that set a key, as NAME=value in the order of names.
func (r *Resolved) Environment() []string { return r.environment }

// Resolve puts the layers together. The error is an *Error with every problem
// found in any layer.
func Resolve(s Sources) (*Resolved, error) {
	r := &resolver{origins: map[string]Origin{}, faulty: map[string]bool{}}
	var files []setting
	for _, f := range s.Files {
		settings, problems := parseDocument(f.Name, f.Data)
		files = append(files, settings...)
		r.problems = append(r.problems, problems...)
	}
	r.base(s.Preset, files)
	r.applyAll(files)
	r.applyAll(r.environment(s.Environment))
	r.applyAll(r.arguments(s.Arguments))
	r.validate()
	if len(r.problems) > 0 {
		return nil, &Error{Problems: r.problems}
	}
	return &Resolved{Config: r.config, origins: r.origins, environment: r.used}, nil
}

// Parse reads a resolved configuration back, as YAML wrote it. A key that is
// absent (because it is younger than the file) has its default; the name of the
// preset is not looked up.
func Parse(name string, data []byte) (Config, error) {
	r := &resolver{origins: map[string]Origin{}, faulty: map[string]bool{}}
	settings, problems := parseDocument(name, data)
	r.problems = problems
	base, _ := presetSettings(DefaultPreset)
	r.applyAll(base)
	r.config.Preset = DefaultPreset
	r.applyAll(settings)
	for _, s := range settings {
		if s.path == presetKey {
			r.config.Preset = s.text
			if quote(s.text) != s.text {
				r.problems = append(r.problems, Problem{Origin: s.origin, Key: presetKey, Message: fmt.Sprintf("%q is not the name of a preset", s.text)})
			}
		}
	}
	r.validate()
	if len(r.problems) > 0 {
		return Config{}, &Error{Problems: r.problems}
	}
	return r.config, nil
}

type resolver struct {
	config   Config
	origins  map[string]Origin
	faulty   map[string]bool // keys whose written value was refused
	used     []string        // environment variables that set a key
	problems []Problem
}

// base applies the preset that the command or the files name.
func (r *resolver) base(name string, files []setting) {
	origin := Origin{}
	for _, s := range files {
		if s.path != presetKey {
			continue
		}
		if name != "" && name != s.text {
			r.problems = append(r.problems, Problem{
				Origin: s.origin, Key: presetKey, Message: fmt.Sprintf("%q, but %q is named already", s.text, name), Hint: "keep one base",
			})
			continue
		}
		name, origin = s.text, s.origin
	}
	name = cmp.Or(name, DefaultPreset)
	settings, problems := presetSettings(name)
	for _, p := range problems {
		if p.Origin == (Origin{}) {
			p.Origin = origin
		}
		r.problems = append(r.problems, p)
	}
	if len(settings) == 0 { // unknown: the rest is checked on the default
		settings, _ = presetSettings(DefaultPreset)
	}
	r.applyAll(settings)
	r.config.Preset = name
	r.origins[presetKey] = origin
}

func (r *resolver) applyAll(settings []setting) {
	keys := Keys()
	for _, s := range settings {
		if s.path == presetKey {
			continue
		}
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Path == s.path })
		if i < 0 {
			p, _ := unknownKey(s.path, s.keyAt)
			r.problems = append(r.problems, p)
			continue
		}
		if fault, hint := keys[i].assign(&r.config, s.text); fault != "" {
			r.faulty[s.path] = true
			r.problems = append(r.problems, Problem{Origin: s.origin, Key: s.path, Message: fault, Hint: hint})
			continue
		}
		r.origins[s.path] = s.origin
		delete(r.faulty, s.path)
	}
}

// unknownKey is the problem of a path that is not in the tree.
func unknownKey(path string, at Origin) (Problem, bool) {
	keys := Keys()
	if slices.ContainsFunc(keys, func(k Key) bool { return k.Path == path }) {
		return Problem{}, false
	}
	p := Problem{Origin: at, Key: path, Message: "unknown key"}
	section, _, dotted := strings.Cut(path, ".")
	var names, sections []string
	for _, k := range keys {
		if k.section() == section {
			names = append(names, k.name())
		}
	}
	for _, s := range Sections() {
		sections = append(sections, s.Name)
	}
	near := nearestKey(path)
	if within := Nearest(path, sections); !dotted && within != "" {
		near = within
	}
	switch {
	case isSection(path):
		p.Message, p.Hint = "a section, not a key", "it has the keys "+strings.Join(names, ", ")
	case near != "":
		p.Hint = "did you mean " + near + "?"
	case dotted && isSection(section):
		p.Hint = section + " has the keys " + strings.Join(names, ", ")
	default:
		p.Hint = "the sections are " + strings.Join(sections, ", ")
	}
	return p, true
}

// environment turns SWITCHYARD_OPTIM_RATE=1e-3 into a setting. A name that is no
// key is a problem if it is near one or starts like one; others belong to other
// tools (an orchestrator may inject SWITCHYARD_SERVICE_HOST).
func (r *resolver) environment(variables []string) []setting {
	paths := map[string]string{}
	var names []string
	for _, k := range Keys() {
		name := Prefix + strings.ToUpper(strings.ReplaceAll(k.Path, ".", "_"))
		paths[name], names = k.Path, append(names, name)
	}
	sorted := slices.Sorted(slices.Values(variables))
	var settings []setting
	for _, v := range sorted {
		name, text, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, Prefix) {
			continue
		}
		at := Origin{Name: name}
		near := Nearest(name, names)
		switch path, known := paths[name]; {
		case path == presetKey:
			r.problems = append(r.problems, Problem{Origin: at, Message: "the preset is named by the command or the file", Hint: "unset it"})
		case known:
			settings = append(settings, setting{path: path, text: text, origin: at, keyAt: at})
			r.used = append(r.used, v)
		case near != "":
			r.problems = append(r.problems, Problem{Origin: at, Message: "sets no key", Hint: "did you mean " + near + "?"})
		}
	}
	return settings
}

func (r *resolver) arguments(arguments []string) []setting {
	var settings []setting
	for _, a := range arguments {
		path, text, found := strings.Cut(a, "=")
		at := Origin{Name: fmt.Sprintf("argument %q", a)}
		switch {
		case !found:
			r.problems = append(r.problems, Problem{Origin: at, Message: "expected key=value", Hint: "e.g. optim.rate=1e-3"})
		case path == presetKey:
			r.problems = append(r.problems, Problem{Origin: at, Message: "the preset is the first argument", Hint: "write " + text + " alone, before the others"})
		default:
			settings = append(settings, setting{path: path, text: text, origin: at, keyAt: at})
		}
	}
	return settings
}
