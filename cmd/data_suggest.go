package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/internal/suggest"
)

// suggestion is a configuration to begin with, and the command that has to be run before.
type suggestion struct {
	suggest.Suggestion
	Convert []string `json:"convert,omitempty"` // arguments of the command that has to be run first
}

// suggested finds a configuration for data that were read from these paths.
func (a *app) suggested(family string, paths []string, how files.Options, d *files.Dataset) (suggestion, error) {
	f, err := a.family(family)
	if err != nil {
		return suggestion{}, err
	}
	var g suggestion
	if slices.Contains(paths, stdin) { // a run reads its files again, so that they have to be kept
		to := freeName("own")
		g.Convert = slices.Concat([]string{"data", "convert"}, paths, []string{to}, readWords(how))
		paths, how = []string{to}, files.Options{Transform: how.Transform}
	}
	g.Suggestion = suggest.For(f, paths, how, d)
	if g.Preset == "" {
		g.Convert = nil
	}
	return g, nil
}

// family is the family of models of a name, with its keys.
func (a *app) family(name string) (suggest.Family, error) {
	all := a.families()
	if !slices.Contains(all, name) {
		hint := "the families are " + strings.Join(all, ", ")
		if near := setting.Nearest(name, all); near != "" {
			hint = "did you mean " + near + "?"
		}
		return suggest.Family{}, config.Hint(config.Usagef("--model %s: there is no such family of models", name), "%s", hint)
	}
	return suggest.Family{Name: name, Has: func(key string) bool {
		for _, k := range a.kinds.Keys() {
			if k.Path == key {
				return len(k.Kinds) == 0 || slices.Contains(k.Kinds, "model.kind="+name)
			}
		}
		return false
	}}, nil
}

// families are the names of the families of models.
func (a *app) families() []string {
	for _, k := range a.kinds.Keys() {
		if k.Path == "model.kind" {
			return k.Values
		}
	}
	return nil
}

// freeName is the name of an npz file that does not exist.
func freeName(stem string) string {
	name := stem + ".npz"
	for i := 2; ; i++ {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) || i > 99 {
			return name
		}
		name = fmt.Sprintf("%s%d.npz", stem, i)
	}
}

// text is the suggestion as lines to copy, with a heading. A line that is too long for a terminal goes on in the next.
func (g suggestion) text(program string) string {
	if g.Preset == "" {
		return "suggested: nothing yet\n  (" + g.Why + ")"
	}
	var b strings.Builder
	b.WriteString("suggested (" + g.Why + "):\n")
	if g.Convert != nil {
		b.WriteString(shellLines(append([]string{program}, g.Convert...)))
	}
	b.WriteString(shellLines(append([]string{program, "train", g.Preset}, g.Settings...)))
	return strings.TrimSuffix(b.String(), "\n")
}

// shellLines is a command for a shell. It goes on in another line where it is longer than a terminal is wide.
func shellLines(words []string) string {
	const width = 78
	var b strings.Builder
	column := 0
	for i, w := range words {
		w = quoted(w)
		switch {
		case i == 0:
			b.WriteString("  " + w)
			column = 2 + len([]rune(w))
			continue
		case column+1+len([]rune(w)) > width-2 && column > 4:
			b.WriteString(" \\\n    " + w)
			column = 4 + len([]rune(w))
			continue
		}
		b.WriteString(" " + w)
		column += 1 + len([]rune(w))
	}
	return b.String() + "\n"
}

// quoted quotes a word for a shell.
func quoted(word string) string {
	if word == "" || strings.ContainsAny(word, " \t*?[]{}()<>|&;$`\"'\\!#~") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
