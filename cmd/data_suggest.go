package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/suggest"
)

// suggestion is a configuration to begin with, and the command that has to be run before.
type suggestion struct {
	suggest.Suggestion
	Convert []string `json:"convert,omitempty"` // arguments of the command that has to be run first
}

// suggested finds a configuration for data that were read from these paths.
func suggested(paths []string, how files.Options, d *files.Dataset, s files.Summary) (suggestion, error) {
	found, err := suggest.For(paths, how, freeName("own"), d, s)
	g := suggestion{Suggestion: found}
	if c := found.Conversion; c != nil {
		g.Convert = slices.Concat([]string{"data", "convert"}, c.From, []string{c.To}, readWords(c.How))
	}
	return g, dataFault(err)
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

// text is the suggestion as lines to copy, with a heading.
func (g suggestion) text(program string) string {
	if g.Preset == "" {
		return "suggested: nothing yet\n           (" + g.Why + ")"
	}
	line := func(words ...string) string {
		for i, w := range words {
			words[i] = quoted(w)
		}
		return program + " " + strings.Join(words, " ") + "\n           "
	}
	s := "suggested: "
	if g.Convert != nil {
		s += line(slices.Clone(g.Convert)...)
	}
	return s + line(append([]string{"train", g.Preset}, g.Settings...)...) + "(" + g.Why + ")"
}

// quoted quotes a word for a shell.
func quoted(word string) string {
	if strings.ContainsAny(word, " \t*?[]{}()<>|&;$`\"'\\!#~") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
