package cluster

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// adapter passes the server's log to ours. Messages of the server about its start and stop have the level debug.
type adapter struct {
	log hclog.Logger

	mu      sync.Mutex
	started bool // the log has errors after the start; before, Start returns them
	last    string
	clients ration
	routes  ration
}

// Noticef implements the logger of the server, as those below do: what it calls a notice is of no interest to people.
func (a *adapter) Noticef(format string, v ...any) { a.log.Debug(fmt.Sprintf(format, v...)) }
func (a *adapter) Warnf(format string, v ...any)   { a.warn(fmt.Sprintf(format, v...)) }
func (a *adapter) Errorf(format string, v ...any)  { a.fail(fmt.Sprintf(format, v...)) }
func (a *adapter) Debugf(format string, v ...any)  { a.log.Debug(fmt.Sprintf(format, v...)) }
func (a *adapter) Tracef(format string, v ...any)  { a.log.Trace(fmt.Sprintf(format, v...)) }

// Fatalf does not end the process: Start returns the error.
func (a *adapter) Fatalf(format string, v ...any) { a.fail(fmt.Sprintf(format, v...)) }

// warn writes a warning. A client that was held back for a moment, so that another can follow, is normal and not a
// warning.
func (a *adapter) warn(text string) {
	if strings.Contains(text, "Producer was stalled") {
		a.log.Debug(text)
		return
	}
	a.log.Warn(text)
}

// fail writes an error. Those about clients and routes are rationed, as they can come without end; those before the
// start are returned by Start.
func (a *adapter) fail(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// A route is tried for ever, and is no reason for Start to fail.
	if ofRoute(text) {
		if allowed, more := a.routes.take(time.Now()); allowed {
			a.log.Warn(text, more...)
		}
		return
	}
	a.last = text
	switch {
	case !a.started:
		a.log.Debug(text)
	case ofClient(text):
		if allowed, more := a.clients.take(time.Now()); allowed {
			a.log.Warn(text, more...)
		}
	default:
		a.log.Error(text)
	}
}

// ofClient reports whether an error of the server is the fault of a client. The server sends the client the error, and
// the client tries again.
func ofClient(text string) bool {
	for _, part := range []string{"authentication error", "Violation", "TLS handshake error"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// routerPort is in the error of a server that cannot listen for routes.
const routerPort = "router port"

// ofRoute reports whether an error of the server is about a route to another one, which is tried again.
func ofRoute(text string) bool {
	return !strings.Contains(text, routerPort) && (strings.Contains(text, "route") || strings.Contains(text, "rid:"))
}

// ready records that the server has started.
func (a *adapter) ready() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started = true
}

// lastError is the last error that the server logged.
func (a *adapter) lastError() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

// Limits on log lines about clients' mistakes: a client with a wrong key, or a stranger, must not fill the log.
const (
	rationTime  = 10 * time.Second
	rationLines = 3
)

// ration limits lines of the same sort.
type ration struct {
	from    time.Time
	written int
	leftOut int
}

// take reports whether a line may be written, and how many were left out before it. more says how many, as key and
// value.
func (r *ration) take(now time.Time) (allowed bool, more []any) {
	if now.Sub(r.from) >= rationTime {
		r.from, r.written = now, 0
	}
	if r.written++; r.written > rationLines {
		r.leftOut++
		return false, nil
	}
	if r.leftOut > 0 {
		more = []any{"left_out", r.leftOut}
	}
	r.leftOut = 0
	return true, more
}
