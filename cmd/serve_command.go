package cmd

import (
	"context"
	"fmt"
	"net"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/admission"
	"github.com/switchyard-ml/switchyard/serving"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/web"
)

// serveCommand is `serve`: a page of the runs of a folder, or, with --model, a trained model. Here --nats counts
// only if it is typed: the environment variable, which is there for other commands, would otherwise open the model
// to a broker.
func (a *app) serveCommand() *cobra.Command {
	var flags webFlags
	var sweepsDir string
	model := defaultModelFlags()
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a web page of the runs in a folder, or a trained model",
		Long: `Serve a web page that shows the runs in a folder, live, and metrics for Prometheus at
/metrics. The page only reads: it never affects training.

With --model, serve a trained model instead: filtering, with one state per client, and
forecasts, over HTTP (described in /openapi.json) and with --nats as a NATS micro service.
Ctrl-C ends it.`,
		Example: "  " + a.invoked + " serve\n  " + a.invoked + " serve --web 0.0.0.0:8080 --web-token-file page.token\n  " +
			a.invoked + " serve --model mine --web 127.0.0.1:8090",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if model.run == "" {
				if err := unused(c, "is for a served model: name one with --model", "checkpoint", "max-clients", "history",
					"nats", "nkey", "tls-ca"); err != nil {
					return err
				}
				return a.serve(flags, sweepsDir)
			}
			if err := model.check(c); err != nil {
				return err
			}
			return a.serveModel(flags, model)
		},
	}
	flags.add(c)
	c.Flags().StringVar(&sweepsDir, "sweeps-dir", usualSweeps, "folder of sweeps to show")
	c.Flags().StringVar(&model.run, "model", "", "serve the trained model of this run")
	c.Flags().StringVar(&model.checkpoint, "checkpoint", model.checkpoint, "of the model: best (by validation) or last")
	c.Flags().IntVar(&model.limits.Clients, "max-clients", model.limits.Clients,
		"most clients whose state is kept")
	c.Flags().IntVar(&model.limits.History, "history", model.limits.History,
		"number of last observations of a client that forecasts use")
	model.connection.add(c, a)
	c.RegisterFlagCompletionFunc("model", a.completeRuns)
	c.RegisterFlagCompletionFunc("checkpoint", completeWords([]string{checkpoint.Best, checkpoint.Last}))
	return c
}

// serve shows the page until a signal ends it. --web none, which leaves nothing to serve, is a usage error.
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
	return a.untilSignal(a.err, "closing the page", server.Serve)
}

// modelFlags say which model is served, and to how many.
type modelFlags struct {
	// Name of the run; empty: no model is served.
	run        string
	checkpoint string
	connection connection
	limits     serving.Limits
}

// check returns a usage error for flags that are wrong or mean nothing with --model. A broker that only the
// environment names is not used.
func (f *modelFlags) check(c *cobra.Command) error {
	if err := unused(c, "means nothing with --model: the page of runs shows sweeps", "sweeps-dir"); err != nil {
		return err
	}
	if err := atLeast(c, 1, "max-clients", "history"); err != nil {
		return err
	}
	if c.Flags().Changed("nats") {
		return f.connection.check(c)
	}
	f.connection.url = ""
	return f.connection.unnamed(c)
}

// serveModel serves a trained model over HTTP, and over NATS where a broker is named, until a signal ends it.
// Nothing to serve by, and a family of models that cannot be asked step by step, are usage errors.
func (a *app) serveModel(page webFlags, f modelFlags) error {
	if page.listen == "none" && f.connection.url == "" {
		return config.Usagef("--web none without --nats serves nothing")
	}
	run, err := a.open(f.run, f.checkpoint)
	if err != nil {
		return err
	}
	if _, _, err := run.Dims(); err != nil { // before anything is opened
		return err
	}
	served := switchyard.ServeOptions{Limits: f.limits, Log: a.logger(a.err, hclog.Warn)}
	if page.listen != "none" {
		if served.Listener, served.Token, err = page.listener(); err != nil {
			return err
		}
		if err := a.printf("model of run %s: http://%s/v1/model, described by /openapi.json\n", f.run,
			served.Listener.Addr()); err != nil {
			return err
		}
	}
	return a.untilSignal(a.err, "closing the service", func(ctx context.Context) error {
		if f.connection.url != "" {
			bus, err := f.connection.connect("model "+f.run, a.logger(a.err, hclog.Info))
			if err != nil {
				return err
			}
			defer bus.Close()
			served.NATS = bus.Conn()
			if err := a.printf("model of run %s: %s\n", f.run, serving.Subject(f.run, "filter|forecast|forget")); err != nil {
				return err
			}
		}
		return switchyard.Serve(ctx, run, served)
	})
}

// listener listens on the address of the page, and reads its token, which an address that other machines reach
// needs. The caller closes the listener. Errors are those of open.
func (f *webFlags) listener() (net.Listener, string, error) {
	if err := listenAddress("web", f.listen, 8080); err != nil {
		return nil, "", err
	}
	token := ""
	if f.tokenFile != "" {
		if err := secretFile("web-token-file", f.tokenFile); err != nil {
			return nil, "", err
		}
		var err error
		if token, err = web.ReadToken(f.tokenFile); err != nil {
			return nil, "", config.Usage(err)
		}
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return nil, "", config.Usage(err)
	}
	if token == "" && !admission.Loopback(host) {
		return nil, "", config.Hint(config.Usagef("--web %s: other machines can reach it, and the service asks for no token",
			f.listen), "give a file with a token (--web-token-file), or listen on 127.0.0.1")
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, "", config.Hint(fmt.Errorf("listen on %s: %w", f.listen, err),
			"choose another address with --web, e.g. --web 127.0.0.1:8081")
	}
	return l, token, nil
}

// defaultModelFlags serve the best checkpoint.
func defaultModelFlags() modelFlags {
	return modelFlags{checkpoint: checkpoint.Best, limits: serving.DefaultLimits()}
}
