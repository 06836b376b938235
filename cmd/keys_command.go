package cmd

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/wire"
)

// keysCommand is `keys`: the commands that change the keys of a cluster while it works. add, revoke and rotate
// differ only in the function that changes the folder and in the word for what was done.
func (a *app) keysCommand() *cobra.Command {
	dir := filepath.Join("deploy", "secrets")
	c := &cobra.Command{
		Use:   "keys",
		Short: "List, add, revoke and rotate the keys of a cluster",
		Long: `List, add, revoke and rotate the keys that ` + "`" + a.invoked + " init`" + ` created. Runs continue meanwhile:
Switchyard's broker rereads its list within seconds and disconnects clients that are no
longer on it. Another NATS server does so after: nats-server --signal reload

A worker whose key was rotated reconnects as soon as its file has the new key.`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&dir, "dir", dir, "folder of the keys")
	c.AddCommand(a.keysListCommand(&dir))
	for _, change := range []struct {
		use, short, done string
		act              func(string, []string) error
	}{
		{"add NAME...", "Create a key for each named worker, worker-NAME.nk", "created", cluster.Add},
		{"revoke NAME...", "Remove worker keys, and disconnect the workers that use them", "revoked", cluster.Revoke},
		{"rotate NAME...", "Replace keys with new ones of the same names", "replaced", cluster.Rotate},
	} {
		sub := &cobra.Command{
			Use: change.use, Short: change.short, Args: atLeastOne("NAME"), ValidArgsFunction: completeKeys(&dir),
			RunE: func(_ *cobra.Command, args []string) error {
				if err := a.changeKeys(dir, args, change.act); err != nil {
					return err
				}
				return a.result(keyChange{args, change.done, true}, func() error {
					return a.printf("%s %s\n%s is updated: switchyard's own broker rereads it automatically, another NATS "+
						"server with --signal reload\n",
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

// changeKeys does something to keys, and says what helps against what can go wrong. No such key, a key that the
// cluster cannot do without, a key that exists already and a name that is none are usage errors.
func (a *app) changeKeys(dir string, names []string, act func(string, []string) error) error {
	err := act(dir, names)
	switch {
	case errors.Is(err, cluster.ErrNoFolder):
		return config.Hint(config.Usage(err), "name their folder with --dir, or create keys with: %s",
			a.line("init", "--dir", dir))
	case errors.Is(err, cluster.ErrNoKey):
		return config.Hint(config.Usage(err), "see which there are with: %s", a.line("keys", "ls", "--dir", dir))
	case errors.Is(err, cluster.ErrNeeded), errors.Is(err, cluster.ErrTwice):
		return config.Hint(config.Usage(err), "replace it with: %s", a.line("keys", "rotate", "NAME", "--dir", dir))
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

// keysListCommand is `keys ls`: names, roles and short public parts of keys, and when the broker last saw them.
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

// printKeys prints keys as a table in local time, or as JSON in UTC. When a key was seen last is known only of
// switchyard's own broker, which notes it.
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

// banCommand is `ban`: it shuts out the workers with a key, by the coordinator or in the folder of runs.
func (a *app) banCommand() *cobra.Command {
	var link connection
	var reason string
	c := &cobra.Command{
		Use:   "ban KEY",
		Short: "Shut out the workers with a key",
		Long: `Shut out the workers with a key: coordinators drop their messages, and Switchyard's
brokers disconnect them and refuse new connections. A ban lasts until ` + "`unban`" + `, also
across restarts of the coordinator. Coordinators ban keys that flood them automatically;
` + "`runs ls`" + ` lists the bans.

KEY is the name of the key: the part after the @ in a worker's name, or the first 12
characters of its public part. With --nats, the coordinator at that broker is told.
Without it, the folder of runs is changed, and a coordinator that uses it follows.`,
		Example: "  " + a.invoked + " ban UDXU4RCSJNZO --nats nats://broker:4222 --nkey operator.nk",
		Args:    exactly("KEY"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.changeBan(c, link, args[0], change{
				here: func(list []wire.Ban, key string) ([]wire.Ban, bool) {
					return cluster.AddBan(list, key, reason, time.Now())
				},
				there: func(ctx context.Context, client *ops.Client, key string) (ops.Changed, error) {
					return client.Ban(ctx, ops.Ban{Key: key, Reason: reason})
				},
				done: "is banned", before: "was banned before",
			})
		},
	}
	link.add(c, a)
	a.jsonFlag(c)
	c.Flags().StringVar(&reason, "reason", "on request", "reason, shown in lists")
	return c
}

// unbanCommand is `unban`: it lets the workers with a key in again.
func (a *app) unbanCommand() *cobra.Command {
	var link connection
	c := &cobra.Command{
		Use:   "unban KEY",
		Short: "Readmit the workers with a banned key",
		Args:  exactly("KEY"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.changeBan(c, link, args[0], change{
				here: cluster.RemoveBan,
				there: func(ctx context.Context, client *ops.Client, key string) (ops.Changed, error) {
					return client.Unban(ctx, key)
				},
				done: "is let in again", before: "was not banned",
			})
		},
	}
	link.add(c, a)
	a.jsonFlag(c)
	return c
}

// change is what is done to the list of banned keys: here, in the folder of runs, or there, at a coordinator. done
// and before say what is printed if the list has changed and if it was so already.
type change struct {
	here         func(list []wire.Ban, key string) ([]wire.Ban, bool)
	there        func(ctx context.Context, client *ops.Client, key string) (ops.Changed, error)
	done, before string
}

// changeBan changes the list of banned keys, and prints whether that changed anything; that it did not is no error.
// Without a broker the list in the folder of runs is read and written; with one, its coordinator is asked. A text
// that is no key is a usage error.
func (a *app) changeBan(c *cobra.Command, link connection, text string, do change) error {
	// A typing error must not end as a ban of nobody.
	key, err := cluster.CheckKey(text)
	if errors.Is(err, cluster.ErrKey) {
		return config.Usage(err)
	}
	if link.url == "" {
		if err := link.unnamed(c); err != nil {
			return err
		}
		list, err := cluster.Load(a.runsDir)
		if err != nil {
			return err
		}
		// A coordinator that uses the folder reads the list again by itself.
		list, changed := do.here(list, key)
		if changed {
			if err := cluster.Save(a.runsDir, list); err != nil {
				return err
			}
		}
		return a.tellBan(key, changed, do)
	}
	if err := link.check(c); err != nil {
		return err
	}
	return a.ask(link, func(ctx context.Context, client *ops.Client) error {
		ctx, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		result, err := do.there(ctx, client, key)
		if err != nil {
			return err
		}
		return a.tellBan(key, result.Changed, do)
	})
}

// keyChange is what a command that changes keys prints with --json.
type keyChange struct {
	Keys    []string `json:"keys"`
	Said    string   `json:"said"`
	Changed bool     `json:"changed"`
}

// tellBan prints what was done.
func (a *app) tellBan(key string, changed bool, do change) error {
	said := do.before
	if changed {
		said = do.done
	}
	return a.result(keyChange{[]string{key}, said, changed}, func() error { return a.printf("key %s %s\n", key, said) })
}
