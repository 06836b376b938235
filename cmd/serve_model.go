package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

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
	asked := asking{checkpoint: f.checkpoint}
	run, err := a.open(&asked, f.run)
	if err != nil {
		return err
	}
	service, err := serving.New(run, f.limits)
	if err != nil {
		return err
	}
	log := a.logger(a.err, hclog.Info)
	var listener net.Listener
	token := ""
	if page.listen != "none" {
		if listener, token, err = page.listener(); err != nil {
			return err
		}
		if err := a.printf("model of run %s: http://%s/v1/model, described by /openapi.json\n", f.run,
			listener.Addr()); err != nil {
			return err
		}
	}
	return a.untilInterrupted(a.err, "closing the service", func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go service.Work(ctx)
		failed := make(chan error, 2)
		parts := 0
		if listener != nil {
			parts++
			go func() { failed <- serveHTTP(ctx, listener, service.Handler(token)) }()
		}
		if f.connection.url != "" {
			bus, err := f.connection.connect("model "+f.run, log)
			if err != nil {
				return err
			}
			defer bus.Close()
			parts++
			go func() { failed <- serving.Serve(ctx, bus.Conn(), service, f.run) }()
			if err := a.printf("model of run %s: %s\n", f.run, serving.Subject(f.run, "filter|forecast|forget")); err != nil {
				return err
			}
		}
		var all error
		for range parts {
			err := <-failed
			cancel()
			all = errors.Join(all, err)
		}
		return all
	})
}

// Time limits of connections of clients.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	closeTimeout  = 2 * time.Second
)

// serveHTTP answers until the context ends.
func serveHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout,
		WriteTimeout: bodyTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 16 << 10,
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve the model: %w", err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := server.Shutdown(closing); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("close the service: %w", err)
	}
	return nil
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
