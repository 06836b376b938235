package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/store"
)

// Functions that complete words for a shell. They change nothing, and what they cannot read has no completions: a
// shell cannot show an error while somebody types.

// completeConfig completes presets and files as the first argument; then it completes keys, section by section, and
// their values. It knows the keys of all kinds, because the kinds of a command line that is still typed are open.
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
	// Without a dot there are sections and the keys outside of sections; behind a dot, the keys of that section.
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

// completeValue completes the value of a key that takes one of a few words, each as key=word; others have no
// completions.
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

// completeRuns completes the name of a run of the local folder: as many as the command takes, each once. The state
// of a run is shown beside its name.
func (a *app) completeRuns(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	// Commands that take more than one name, with how many.
	all := len(args) + 1
	several := map[string]int{"diff": 2, "compare": 2, "report": all, "rm": all, "label": all}
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

// completeColumns completes names of columns from the first file that the command line names: several, separated by
// commas, each once; or one.
func completeColumns(several bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return columnsAfter("", word, filesNamed(c, args), several)
	}
}

// completeOwnColumns completes a column of the files that a run was trained on.
func (a *app) completeOwnColumns(_ *cobra.Command, args []string, word string) ([]cobra.Completion,
	cobra.ShellCompDirective,
) {
	var paths []string
	if len(args) > 0 {
		if c, err := a.runConfig(args[0]); err == nil && c.Recorded() {
			paths = strings.Split(c.Env.Settings.(*files.Settings).Files, ",")
		}
	}
	return columnsAfter("", word, paths, false)
}

// filesNamed are the files of --data or --in, where a command has these flags, or else its arguments.
func filesNamed(c *cobra.Command, args []string) []string {
	if c.Flags().Lookup("data") == nil {
		return args
	}
	for _, name := range []string{"data", "in"} {
		if list, err := c.Flags().GetStringSlice(name); err == nil && len(list) > 0 {
			return list
		}
	}
	return nil
}

// completeRenames completes the OLD of OLD=NEW.
func completeRenames(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list, directive := columnsAfter("", word, filesNamed(c, args), true)
	for i := range list {
		list[i] += "="
	}
	return list, directive
}

// columnsAfter completes the last name of a list. before is what stands in front of the list in the same word, as
// "env.observe="; names that the list has already are left out. A file that cannot be read has no completions.
func columnsAfter(before, word string, paths []string, several bool) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	// The names that stand before the last comma, with it.
	given := ""
	if at := strings.LastIndex(word, ","); several && at >= 0 {
		given = word[:at+1]
	}
	if len(paths) == 0 {
		return nil, directive
	}
	names, err := files.ColumnsOf(paths[:1]) // the names of one file are those of all
	if err != nil {
		return nil, directive
	}
	var list []cobra.Completion
	for _, n := range names {
		if !slices.Contains(strings.Split(given, ","), n) {
			list = append(list, before+given+n)
		}
	}
	return list, directive
}

// columnKeys are the keys whose values are names of columns of env.files.
var columnKeys = []string{"env.observe", "env.control", "env.label", "env.time", "env.id", "env.rename"}

// completeColumnKey completes the value of a key that names columns, from the files that an argument gives.
func completeColumnKey(key, value string, args []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var paths []string
	for _, a := range args {
		if list, ok := strings.CutPrefix(a, "env.files="); ok {
			paths = strings.Split(list, ",")
		}
	}
	return columnsAfter(key+"=", value, paths, true)
}
