package cmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/wire"
)

func (a *app) banCommand() *cobra.Command {
	var link connection
	var reason string
	c := &cobra.Command{
		Use:   "ban KEY",
		Short: "Hear the workers with a key no more",
		Long: `Hear the workers with a key no more: coordinators drop what they say, brokers of ours
close their connections and let them in no more. That holds until ` + "`unban`" + `, also
after a restart of the coordinator. Coordinators ban keys by themselves that flood
them; ` + "`runs ls`" + ` lists the bans.

KEY is the name of the key: the part behind the @ of a worker's name, or the first 12
characters of its public part. With --nats the coordinator at that broker is asked;
without, the folder of runs is changed, and a coordinator that uses it follows.`,
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
	c.Flags().StringVar(&reason, "reason", "on request", "why, for people")
	return c
}

func (a *app) unbanCommand() *cobra.Command {
	var link connection
	c := &cobra.Command{
		Use:   "unban KEY",
		Short: "Hear the workers with a banned key again",
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

// change is what is done to the list of banned keys: here, in the folder of runs, or there, at a coordinator.
type change struct {
	here         func(list []wire.Ban, key string) ([]wire.Ban, bool)
	there        func(ctx context.Context, client *ops.Client, key string) (ops.Changed, error)
	done, before string
}

func (a *app) changeBan(c *cobra.Command, link connection, text string, do change) error {
	key, err := cluster.CheckKey(text)
	if errors.Is(err, cluster.ErrKey) {
		return config.Usage(err)
	}
	if link.url == "" {
		list, err := cluster.Load(a.runsDir)
		if err != nil {
			return err
		}
		list, changed := do.here(list, key)
		if changed {
			err = cluster.Save(a.runsDir, list)
		}
		return errors.Join(err, a.tellBan(key, changed && err == nil, do))
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

func (a *app) tellBan(key string, changed bool, do change) error {
	said := do.before
	if changed {
		said = do.done
	}
	return a.result(keyChange{[]string{key}, said, changed}, func() error { return a.printf("key %s %s\n", key, said) })
}
