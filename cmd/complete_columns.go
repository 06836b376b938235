package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// completeColumns completes names of columns from the first file that the command line names: several, separated by
// commas, each once; or one.
func completeColumns(several bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return columnsAfter("", word, filesNamed(c, args), several)
	}
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

// columnsAfter completes the last name of a list. before is what stands in front of the list in the same word.
func columnsAfter(before, word string, paths []string, several bool) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
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
	return columnsAfter(key+"=", value, paths, key != "env.id")
}
