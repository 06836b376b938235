package cmd

import (
	"context"
	"fmt"
	"net"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/serving"

	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/web"
)

// modelFlags say which model is served, and to how many.
type modelFlags struct {
	run        string
	checkpoint string
	connection connection
	limits     serving.Limits
}

// serveModel serves a trained model over HTTP, and over NATS where a broker is named.
func (a *app) serveModel(page webFlags, f modelFlags) error {
	if page.listen == "none" && f.connection.url == "" {
		return config.Usagef("--web none without --nats serves nothing")
	}
	if l := f.limits; l.Clients < 1 || l.History < 1 {
		return config.Usagef("--max-clients %d --history %d: they are at least 1", l.Clients, l.History)
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
	return a.untilInterrupted(a.err, "closing the service", func(ctx context.Context) error {
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

// listener listens on the address of the page, and reads its token, which an address that other machines reach needs.
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
	if token == "" && !web.Loopback(host) {
		return nil, "", config.Hint(config.Usagef("--web %s: other machines can reach it, and the service asks for no token",
			f.listen), "give a file with a token (--web-token-file), or listen on 127.0.0.1")
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, "", config.Hint(fmt.Errorf("listen on %s: %w", f.listen, err),
			"--web takes another address, e.g. 127.0.0.1:8081")
	}
	return l, token, nil
}

// defaultModelFlags serve the best checkpoint.
func defaultModelFlags() modelFlags {
	return modelFlags{checkpoint: checkpoint.Best, limits: serving.DefaultLimits()}
}
