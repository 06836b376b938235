package cmd

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
)

// configCommand is the group `config`: it shows, checks and describes configurations, and trains nothing.
func (a *app) configCommand() *cobra.Command {
	c := group("config", "Show, check and describe configurations", "")
	c.AddCommand(a.configShowCommand(), a.configCheckCommand(), a.configSchemaCommand())
	return c
}

// configShowCommand is `config show`: the resolved configuration with the meaning of each key and the place where a
// value was set; with --json the values alone. What is wrong with the configuration is a usage error.
func (a *app) configShowCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "show [PRESET|FILE.yaml]... [key=value]...",
		Short: "Print the resolved configuration: meaning and source of each key",
		Long: `Print the configuration that train would use: the preset, overridden by files, by
` + config.Prefix + `* environment variables and by key=value arguments, in this order. The output is
itself a configuration file.`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeConfig,
		RunE: func(_ *cobra.Command, args []string) error {
			resolved, _, err := a.resolve(args)
			if err != nil {
				return err
			}
			return a.result(resolved.Config.Map(), func() error { return a.printYAML(string(resolved.Annotated())) })
		},
	}
	a.jsonFlag(c)
	return c
}

// checked is what config check --json prints of a file.
type checked struct {
	File     string   `json:"file"`
	OK       bool     `json:"ok"`
	Problems []string `json:"problems"`
}

// configCheckCommand is `config check`: it reports all problems of all files, not only the first, as one usage
// error. With --json the results are printed before that.
func (a *app) configCheckCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "check FILE.yaml...",
		Short: "Report every error in configuration files",
		Args:  cobra.MatchAll(atLeastOne("FILE.yaml")),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := readFiles(args)
			if err != nil {
				return err
			}
			var all config.Error
			results := []checked{}
			for _, f := range files { // each file alone: the files need not fit together
				_, err := a.kinds.Resolve(config.Sources{Files: []config.File{f}})
				var problems *config.Error
				if errors.As(err, &problems) {
					results = append(results, checked{f.Name, false, problemTexts(problems)})
					all.Problems = append(all.Problems, problems.Problems...)
					continue
				}
				results = append(results, checked{f.Name, true, []string{}})
				if a.asJSON {
					continue
				}
				if err := a.printf("%s: ok\n", f.Name); err != nil {
					return err
				}
			}
			if err := a.result(results, func() error { return nil }); err != nil {
				return err
			}
			if len(all.Problems) > 0 {
				return &all
			}
			return nil
		},
	}
	a.jsonFlag(c)
	return c
}

// problemTexts are what is wrong, a line each, without the excerpts of the files.
func problemTexts(e *config.Error) []string {
	var list []string
	for _, p := range e.Problems {
		text, _, _ := strings.Cut(p.String(), "\n")
		list = append(list, text)
	}
	return list
}

// configSchemaCommand is `config schema`: the JSON Schema of configuration files, with the kinds of this program.
func (a *app) configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of configuration files",
		Long: `Print the JSON Schema of configuration files. With

  # yaml-language-server: $schema=switchyard.schema.json

as the first line of a file, editors that support YAML check and complete it.`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			schema, err := a.kinds.Schema()
			if err != nil {
				return err
			}
			return a.printRaw(string(schema))
		},
	}
}

// atLeastOne returns a usage error for a command line without arguments; name says what is missing.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return config.Hint(config.Usagef("%s needs a %s", c.CommandPath(), name), "%s --help says more", c.CommandPath())
		}
		return nil
	}
}

// resolve reads a command line of a preset, files and key=value arguments. It also returns what the line and the
// environment set on top of the preset, for the record of a run: one setting or file per line. Only the first
// argument may be a preset. Problems are a *config.Error, files that cannot be read a usage error.
func (a *app) resolve(args []string) (*config.Resolved, []string, error) {
	var s config.Sources
	var paths, overrides []string
	for i, arg := range args {
		switch {
		case strings.Contains(arg, "="):
			s.Arguments = append(s.Arguments, arg)
			overrides = append(overrides, arg)
		case isFileName(arg):
			paths = append(paths, arg)
		case i == 0 && filepath.Ext(arg) != "": // no preset has a dot in its name
			return nil, nil, config.Hint(config.Usagef("%s is no preset, and no configuration, which ends in .yaml", arg),
				"a model of data: %s; or the best of several: %s", a.command("train", "files", "env.files="+arg),
				a.command("fit", arg))
		case i == 0:
			s.Preset = arg
		default:
			// The configuration reports what is wrong with this argument, together with its other problems.
			s.Arguments = append(s.Arguments, arg)
		}
	}
	files, err := readFiles(paths)
	if err != nil {
		return nil, nil, err
	}
	// Files before the environment, and that before arguments, in the order in which they override each other.
	s.Files, s.Environment = files, a.settings()
	resolved, err := a.kinds.Resolve(s)
	if err != nil {
		return nil, nil, err
	}
	return resolved, append(append(paths, resolved.Environment()...), overrides...), nil
}

// resolveRun is resolve for a command that begins a run: its first argument has to be what to train.
func (a *app) resolveRun(command string, args []string) (*config.Resolved, []string, error) {
	if strings.Contains(args[0], "=") {
		return nil, nil, config.Hint(config.Usagef("%s needs a preset or a file before %q", command, args[0]), "e.g. %s",
			a.command(command, config.DefaultPreset, args[0]))
	}
	return a.resolve(args)
}

// isFileName reports whether an argument is a configuration file: it ends in .yaml or .yml.
func isFileName(arg string) bool {
	return strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")
}
