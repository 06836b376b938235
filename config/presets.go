package config

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

//go:embed presets
var presetFiles embed.FS

// DefaultPreset is the preset of a configuration that names none.
const DefaultPreset = "fhn"

// BasePreset sets every key: all presets are based on it. A run that is older than a key has the value of this preset.
const BasePreset = "fhn/faithful"

// Preset is a configuration that comes with the program.
type Preset struct {
	Name  string // e.g. fhn/smoke
	Title string // one line on what it is for
}

// Presets lists the presets by name. The title of one is the first line of its file, a comment.
func Presets() []Preset {
	var list []Preset
	// The files are compiled in: walking them cannot fail.
	_ = fs.WalkDir(presetFiles, "presets", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := presetFiles.ReadFile(path)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(string(data), "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(path, "presets/"), ".yaml")
		list = append(list, Preset{Name: name, Title: strings.TrimPrefix(first, "# ")})
		return nil
	})
	slices.SortFunc(list, func(a, b Preset) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// presetNames lists the names alone.
func presetNames() []string {
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
	}
	return names
}

// presetEntries returns the entries of a preset, after those of the preset that it is based on. A preset that names
// itself has no base. An unknown name has no entries and one problem, which has no origin yet.
func (k *Kinds) presetEntries(name string) ([]entry, []Problem) {
	data, err := presetFiles.ReadFile("presets/" + name + ".yaml")
	if err != nil {
		return nil, []Problem{unknownPreset(name)}
	}
	// Problems of a preset are told like those of any file, though only a test should see them.
	own, problems := k.parseDocument(presetOrigin+name, data)
	var base []entry
	for _, s := range own {
		if s.path == presetKey && s.text != name {
			var more []Problem
			base, more = k.presetEntries(s.text)
			problems = append(problems, more...)
		}
	}
	return append(base, own...), problems
}

// unknownPreset is the problem of a name that no preset has.
func unknownPreset(name string) Problem {
	p := Problem{Message: fmt.Sprintf("unknown preset %q", name), Hint: "there are " + strings.Join(presetNames(), ", ")}
	if near := setting.Nearest(name, presetNames()); near != "" {
		p.Hint = fmt.Sprintf("did you mean %s? (%s)", near, p.Hint)
	}
	return p
}
