package cmd

import (
	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/web"
)

func (a *app) serveCommand() *cobra.Command {
	var flags webFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a page that shows the runs of a folder",
		Long: `Serve a page that shows the runs of a folder while they go on, and metrics for
Prometheus at /metrics. The page only looks: whatever process trains, trains on.
Ctrl-C ends it.`,
		Example: "  " + a.invoked + " serve\n  " + a.invoked + " serve --web 0.0.0.0:8080 --web-token-file page.token",
		Args:    exactly(),
		RunE:    func(*cobra.Command, []string) error { return a.serve(flags) },
	}
	flags.add(c)
	return c
}

func (a *app) serve(flags webFlags) error {
	server, err := flags.open(web.Folder(a.runsDir), a.runsDir, a.logger(a.err, hclog.Info))
	if err != nil {
		return err
	}
	if server == nil {
		return advice.Hint(advice.Usagef("serve --web none serves nothing"), "leave --web out for 127.0.0.1:8080")
	}
	if err := a.printf("page of the runs in %s: %s\n", a.runsDir, server.URL()); err != nil {
		return err
	}
	return a.untilInterrupted(a.err, "closing the page", server.Serve)
}
