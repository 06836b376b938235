package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
)

// completeConfig completes presets and files as the first argument; then it completes keys, section by section, and
// their values.
func (a *app) completeConfig(_ *cobra.Command, args []string, word string) ([]cobra.Completion,
	cobra.ShellCompDirective,
) {
	if path, value, found := strings.Cut(word, "="); found {
		if slices.Contains(columnKeys, path) {
			return completeColumnKey(path, value, args)
		}
		return a.completeValue(path), cobra.ShellCompDirectiveNoFileComp
	}
	var words []cobra.Completion
	if len(args) == 0 {
		for _, p := range config.Presets() {
			words = append(words, cobra.CompletionWithDesc(p.Name, p.Title))
		}
		if !strings.Contains(word, ".") {
			return words, cobra.ShellCompDirectiveDefault // files too
		}
	}
	section, _, dotted := strings.Cut(word, ".")
	for _, s := range a.kinds.Sections() {
		if !dotted {
			words = append(words, cobra.CompletionWithDesc(s.Name+".", s.Doc))
		}
	}
	for _, k := range a.kinds.Keys() {
		in, _, nested := strings.Cut(k.Path, ".")
		if k.Path != "preset" && (nested && dotted && in == section || !nested && !dotted) {
			words = append(words, cobra.CompletionWithDesc(k.Path+"=", k.Doc))
		}
	}
	return words, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeValue(path string) []cobra.Completion {
	for _, k := range a.kinds.Keys() {
		if k.Path != path {
			continue
		}
		values := k.Values
		if k.Type == "boolean" {
			values = []string{"true", "false"}
		}
		var words []cobra.Completion
		for _, v := range values {
			words = append(words, path+"="+v)
		}
		return words
	}
	return nil
}

// completeRuns completes the name of a run: as many as the command takes, each once.
func (a *app) completeRuns(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	several := map[string]int{"diff": 2, "compare": 2, "report": len(args) + 1, "rm": len(args) + 1}
	if len(args) >= max(1, several[c.Name()]) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := store.List(a.runsDir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var words []cobra.Completion
	for _, info := range list {
		if slices.Contains(args, info.Name) {
			continue
		}
		words = append(words, cobra.CompletionWithDesc(info.Name, string(info.State)))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completePresets completes the name of a preset.
func completePresets(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var words []cobra.Completion
	for _, p := range config.Presets() {
		words = append(words, cobra.CompletionWithDesc(p.Name, p.Title))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
