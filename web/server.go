package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/admission"
)

// Config says what is served. Source and Dir are needed.
type Config struct {
	Source  Source       // the runs to show
	Sweeps  *Sweeps      // the sweeps to show; nil: none
	Model   ModelFunc    // nil: models are not shown
	Dir     string       // folder of the runs; metrics, configurations and figures are read from it
	Token   string       // the token of clients, from ReadToken; empty: only loopback addresses, and no run can be stopped
	Version string       // of this program
	Log     hclog.Logger // nil: no log
}

// Time limits of connections. Events have limits of their own, and of a download each part may take writeTimeout.
// shutdownTimeout is how long requests in progress may take when the server ends.
const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 10 * time.Second
	writeTimeout    = 30 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 2 * time.Second
	maxHeader       = 16 << 10
)

// Server is a web server on a listener. Each request has a goroutine of its own. Nothing is read from the disk while
// mu is held, but for the first look at a run.
type Server struct {
	config   Config
	guard    admission.Guard
	listener net.Listener
	log      hclog.Logger

	streams streams       // clients of events
	reads   chan struct{} // one element for each request that reads a lot
	tables  chan struct{} // one for each that is sent all metrics, which takes as long as its client likes
	models  chan struct{} // one element while a model is computed with
	poll    time.Duration // time between two checks for changes

	whole    *shelf // the metrics of single runs
	outlines *shelf // of many runs at once

	// mu guards the maps; each follower has a lock of its own.
	mu        sync.Mutex
	followers map[string]*follower
	facts     map[string]facts
}

// Limits on the work that clients can cause: open streams of events, requests that read a lot at the same time, and
// how often a stream looks for changes.
const (
	maxStreams   = 64
	maxReads     = 4
	pollInterval = time.Second
)

// Listen listens on the address "host:port"; port 0 takes a free one. An address that other machines can reach needs a
// token. The address is taken at once; requests are answered by Serve. It returns ErrToken if there is none where
// one is needed.
func Listen(address string, c Config) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen for the page on %s: %w (e.g. 127.0.0.1:8080)", address, err)
	}
	if c.Token == "" && !admission.Loopback(host) {
		return nil, fmt.Errorf("%w: other machines can reach %s; give a file with a token (--web-token-file), or listen "+
			"on 127.0.0.1", ErrToken, address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the page on %s: %w", address, err)
	}
	s := newServer(c)
	s.listener = l
	return s, nil
}

// newServer makes a server without a listener, for its handler alone.
func newServer(c Config) *Server {
	log := c.Log
	if log == nil {
		log = hclog.NewNullLogger()
	}
	return &Server{
		config: c, guard: admission.NewGuard(c.Token, writeError), log: log,
		streams: streams{most: maxStreams}, reads: make(chan struct{}, maxReads), tables: make(chan struct{}, maxReads),
		models: make(chan struct{}, 1), poll: pollInterval,
		whole:     newShelf(c.Dir, digestPoints, maxDigests),
		outlines:  newShelf(c.Dir, outlinePoints, maxOutlines),
		followers: map[string]*follower{}, facts: map[string]facts{},
	}
}

// Address is the address of the server, "host:port".
func (s *Server) Address() string { return s.listener.Addr().String() }

// URL is the address of the page for a browser on this machine. Where the server listens on all addresses, that is the
// loopback address.
func (s *Server) URL() string {
	address := s.Address()
	if host, port, err := net.SplitHostPort(address); err == nil {
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			address = net.JoinHostPort("127.0.0.1", port)
		}
	}
	return "http://" + address + "/"
}

// Close frees the address of a server if Serve is not called.
func (s *Server) Close() error { return s.listener.Close() }

// Serve answers requests until ctx ends. Then it waits for requests in progress, up to a limit, and returns nil. It
// closes the listener.
func (s *Server) Serve(ctx context.Context) error {
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	h := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog:    s.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	var background sync.WaitGroup
	background.Go(func() { s.warm(requests) })
	defer background.Wait()
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- h.Serve(s.listener) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve the page on %s: %w", s.Address(), err)
	case <-ctx.Done():
	}
	cancel() // events end at once
	limit, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer stop()
	err := h.Shutdown(limit)
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.Close()
	}
	<-done
	if err != nil {
		return fmt.Errorf("end the web server: %w", err)
	}
	return nil
}

// Handler answers all requests. The page, health and readiness need no token, all else does. What changes something
// is a POST, and one that a page of another site sends is refused.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	private := func(answer http.HandlerFunc) http.Handler { return s.guard.Private(answer) }
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /{file...}", s.pageFile)
	mux.Handle("GET /metrics", private(s.prometheus().ServeHTTP))
	mux.Handle("GET /api/about", private(s.about))
	mux.Handle("GET /api/runs", private(s.list))
	mux.Handle("GET /api/table", private(s.table))
	mux.Handle("GET /api/curves", private(s.curves))
	mux.Handle("GET /api/runs/{name}", private(s.show))
	mux.Handle("GET /api/runs/{name}/metrics", private(s.metrics))
	mux.Handle("GET /api/runs/{name}/figures/{file...}", private(s.figure))
	mux.Handle("GET /api/runs/{name}/files/{file...}", private(s.file))
	mux.Handle("GET /api/runs/{name}/log", private(s.logTail))
	mux.Handle("GET /api/runs/{name}/model", private(s.model))
	mux.Handle("GET /api/runs/{name}/magnitudes", private(s.magnitudes))
	mux.Handle("POST /api/runs/{name}/stop", private(s.acts("stop", s.config.Source.Stop)))
	mux.Handle("POST /api/runs/{name}/checkpoint", private(s.acts("checkpoint", s.checkpointRun)))
	mux.Handle("POST /api/runs/{name}/resume", private(s.acts("resume", s.resumeRun)))
	mux.Handle("POST /api/runs/{name}/rename", private(edits(s, "rename", renameRun)))
	mux.Handle("POST /api/runs/{name}/remove", private(edits(s, "remove", removeRun)))
	mux.Handle("POST /api/runs/{name}/labels", private(edits(s, "label", labelRun)))
	mux.Handle("GET /api/sweeps", private(s.listSweeps))
	mux.Handle("GET /api/sweeps/{name}", private(s.showSweep))
	mux.Handle("GET /api/events", private(s.events))
	return s.harden(mux)
}

// ready answers 200 if runs can make progress, and 503 otherwise.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if err := s.config.Source.Ready(); err != nil {
		s.log.Debug("not ready", "err", err)
		writeText(w, http.StatusServiceUnavailable, "not ready: the broker is not connected")
		return
	}
	writeText(w, http.StatusOK, "ready")
}
