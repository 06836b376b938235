package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/switchyard-ml/switchyard/trained"
)

// ErrOpen is returned for an address that other machines reach without a token.
var ErrOpen = errors.New("other machines can reach the address, and the service asks for no token")

// Options say where a model is served, and to how many: over HTTP, over NATS or both. One of Address, Listener and
// NATS is needed.
type Options struct {
	Address  string       // of HTTP, as 127.0.0.1:8080; empty: no HTTP but on Listener
	Listener net.Listener // in place of Address; it is closed in the end
	Token    string       // that requests over HTTP need; an address that other machines reach takes one
	NATS     *nats.Conn   // answers there, too; nil: not over NATS
	Limits   Limits       // those that are 0 are of DefaultLimits
	Log      hclog.Logger // nil: nothing is logged
}

// Serve answers requests for a run until the context ends, and returns when nothing computes with the run any more.
// Nothing else may use the run meanwhile. If one carrier fails, the others are ended, too, and the error is
// returned. It returns ErrOpen for an address that other machines reach without a token.
func Serve(ctx context.Context, run *trained.Run, o Options) error {
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	l, err := o.listen(ctx)
	if err != nil {
		return err
	}
	s, err := New(run, o.Limits, o.Log)
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var carriers []func() error
	if l != nil {
		o.Log.Info("the model is served", "run", run.Info().Name, "address", l.Addr())
		carriers = append(carriers, func() error { return s.overHTTP(ctx, l, o) },
			func() error { return s.pressure.watch(ctx) })
	}
	if o.NATS != nil {
		carriers = append(carriers, func() error { return s.overNATS(ctx, o.NATS) })
	}
	// Forecasts leave one core to the filter steps, if there are several.
	go s.Work(ctx, runtime.GOMAXPROCS(0)-1)
	failed := make(chan error, len(carriers))
	for _, c := range carriers {
		go func() { failed <- c() }()
	}
	for range carriers {
		err = errors.Join(err, <-failed)
		cancel()
	}
	cancel()
	<-s.done // the run is free
	return err
}

// listen returns the listener of HTTP, nil for none. A listener that is refused is closed.
func (o *Options) listen(ctx context.Context) (net.Listener, error) {
	l := o.Listener
	switch {
	case l == nil && o.Address == "" && o.NATS == nil:
		return nil, errors.New("serve the model: neither an address nor a connection is given")
	case l == nil && o.Address == "":
		return nil, nil
	case l == nil:
		var err error
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", o.Address); err != nil {
			return nil, fmt.Errorf("listen on %s: %w", o.Address, err)
		}
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && o.Token == "" && !at.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("serve the model on %s: %w", at, ErrOpen), l.Close())
	}
	return l, nil
}

// Time limits of connections of clients. answerTimeout is how long an answer may take to be written once its time is
// over; closeTimeout is how long requests may take that are in progress in the end.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	answerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	closeTimeout  = 2 * time.Second
)

// server is what listens for requests. A connection stays open as long as a request may take, with its answer.
func (s *Service) server(o Options) *http.Server {
	return &http.Server{
		Handler: s.Handler(o.Token), ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout,
		WriteTimeout: bodyTimeout + s.limits.Deadline + answerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 16 << 10,
		ConnState: s.pressure.counts,
		ErrorLog:  o.Log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}),
	}
}

// overHTTP answers until the context ends.
func (s *Service) overHTTP(ctx context.Context, l net.Listener, o Options) error {
	server := s.server(o)
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
