package cmd

import (
	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/web"
)

func (a *app) serveCommand() *cobra.Command {
	var flags webFlags
	var sweepsDir string
	model := defaultModelFlags()
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a page that shows the runs of a folder, or a trained model",
		Long: `Serve a page that shows the runs of a folder while they go on, and metrics for
Prometheus at /metrics. The page only looks: whatever process trains, trains on.

With --model, serve a trained model instead: filtering, with a state for each client, and
forecasts, over HTTP as /openapi.json says, and with --nats as a micro service over NATS.
Ctrl-C ends it.`,
		Example: "  " + a.invoked + " serve\n  " + a.invoked + " serve --web 0.0.0.0:8080 --web-token-file page.token\n  " +
			a.invoked + " serve --model mine --web 127.0.0.1:8090",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if model.run == "" {
				return a.serve(flags, sweepsDir)
			}
			if !c.Flags().Changed("nats") {
				model.connection.url = ""
			} else if err := model.connection.check(c); err != nil {
				return err
			}
			return a.serveModel(flags, model)
		},
	}
	flags.add(c)
	c.Flags().StringVar(&sweepsDir, "sweeps-dir", "sweeps", "folder of the sweeps to show")
	c.Flags().StringVar(&model.run, "model", "", "serve the trained model of this run")
	c.Flags().StringVar(&model.checkpoint, "checkpoint", model.checkpoint, "of the model: best (by validation) or last")
	c.Flags().IntVar(&model.limits.Clients, "max-clients", model.limits.Clients,
		"clients of the model whose state is held")
	c.Flags().IntVar(&model.limits.History, "history", model.limits.History,
		"last observations of a client that forecasts are made from")
	model.connection.add(c, a)
	c.RegisterFlagCompletionFunc("model", a.completeRuns)
	c.RegisterFlagCompletionFunc("checkpoint", completeWords([]string{checkpoint.Best, checkpoint.Last}))
	return c
}

func (a *app) serve(flags webFlags, sweepsDir string) error {
	flags.sweeps, flags.model = sweepsOf(sweepsDir), a.portrait
	server, err := flags.open(web.Folder(a.runsDir), a.runsDir, a.logger(a.err, hclog.Info))
	if err != nil {
		return err
	}
	if server == nil {
		return config.Hint(config.Usagef("serve --web none serves nothing"), "leave --web out for 127.0.0.1:8080")
	}
	if err := a.printf("page of the runs in %s: %s\n", a.runsDir, server.URL()); err != nil {
		return err
	}
	return a.untilInterrupted(a.err, "closing the page", server.Serve)
}
