package cmd

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// keysCommand has the commands that change the keys of a cluster while it works.
func (a *app) keysCommand() *cobra.Command {
	dir := filepath.Join("deploy", "secrets")
	c := &cobra.Command{
		Use:   "keys",
		Short: "List, add, revoke and rotate the keys of a cluster",
		Long: `List, add, revoke and rotate the keys that ` + "`" + a.invoked + " init`" + ` has made. Runs go on meanwhile:
the broker of this program reads its list again within seconds, and cuts off who is
no longer on it. Another NATS server does so upon: nats-server --signal reload

A worker whose key was rotated connects again as soon as its file has the new one.`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&dir, "dir", dir, "folder of the keys")
	c.AddCommand(a.keysListCommand(&dir))
	for _, change := range []struct {
		use, short, done string
		act              func(string, []string) error
	}{
		{"add NAME...", "Make a key for each worker named, worker-NAME.nk", "made", cluster.Add},
		{"revoke NAME...", "Remove keys of workers: who uses one is cut off", "revoked", cluster.Revoke},
		{"rotate NAME...", "Replace keys by new ones of the same names", "replaced", cluster.Rotate},
	} {
		sub := &cobra.Command{
			Use: change.use, Short: change.short, Args: atLeastOne("NAME"), ValidArgsFunction: completeKeys(&dir),
			RunE: func(_ *cobra.Command, args []string) error {
				if err := a.changeKeys(dir, args, change.act); err != nil {
					return err
				}
				return a.result(keyChange{args, change.done, true}, func() error {
					return a.printf("%s %s\n%s follows: switchyard's own broker reads it by itself, another NATS server with "+
						"--signal reload\n",
						change.done, strings.Join(args, "\n"+change.done+" "), filepath.Join(dir, cluster.Auth))
				})
			},
		}
		a.jsonFlag(sub)
		c.AddCommand(sub)
	}
	return c
}

// completeKeys completes the names of keys of a folder.
func completeKeys(dir *string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		list, err := cluster.List(*dir)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []cobra.Completion
		for _, k := range list {
			words = append(words, cobra.CompletionWithDesc(k.Name, k.Role))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// changeKeys does something to keys, and says what helps against what can go wrong.
func (a *app) changeKeys(dir string, names []string, act func(string, []string) error) error {
	err := act(dir, names)
	switch {
	case errors.Is(err, cluster.ErrNoKey):
		return config.Hint(config.Usage(err), "see which there are with: %s keys ls --dir %s", a.invoked, dir)
	case errors.Is(err, cluster.ErrNeeded):
		return config.Hint(config.Usage(err), "replace it with: %s keys rotate", a.invoked)
	case errors.Is(err, cluster.ErrTwice):
		return config.Hint(config.Usage(err), "replace it with: %s keys rotate", a.invoked)
	case errors.Is(err, cluster.ErrWorker):
		return config.Usage(err)
	}
	return err
}

// keyLine is a line of keys ls --json.
type keyLine struct {
	Name    string     `json:"name"`
	Role    string     `json:"role"`
	Key     string     `json:"key"` // as in logs and on the page
	Created time.Time  `json:"created"`
	Seen    *time.Time `json:"last_seen,omitempty"`
}

func (a *app) keysListCommand(dir *string) *cobra.Command {
	c := &cobra.Command{
		Use: "ls", Short: "List the keys, their roles, and when the broker last saw them", Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			var list []cluster.Key
			err := a.changeKeys(*dir, nil, func(dir string, _ []string) (err error) {
				list, err = cluster.List(dir)
				return err
			})
			if err != nil {
				return err
			}
			return a.printKeys(list)
		},
	}
	a.jsonFlag(c)
	return c
}

func (a *app) printKeys(list []cluster.Key) error {
	lines := []keyLine{}
	table := terminal.NewTable("name", "role", "key", "created", "last seen").Left(1, 2, 3, 4)
	for _, k := range list {
		line, seen := keyLine{Name: k.Name, Role: k.Role, Key: k.Short, Created: k.Created.UTC()}, "not known"
		if !k.Seen.IsZero() {
			line.Seen, seen = &k.Seen, k.Seen.Local().Format(time.DateTime)
		}
		lines = append(lines, line)
		table.Row(k.Name, k.Role, k.Short, k.Created.Local().Format(time.DateTime), seen)
	}
	if a.asJSON {
		return a.printJSON(lines)
	}
	_, err := table.WriteTo(a.out)
	return err
}
