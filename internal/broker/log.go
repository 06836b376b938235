package broker

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// adapter writes the server's log to ours. Notices of a server that starts and stops are details here.
type adapter struct {
	log hclog.Logger

	mu      sync.Mutex
	started bool // from then on errors are told here, until then by Start
	last    string
	clients ration
}

func (a *adapter) Noticef(format string, v ...any) { a.log.Debug(fmt.Sprintf(format, v...)) }
func (a *adapter) Warnf(format string, v ...any)   { a.warn(fmt.Sprintf(format, v...)) }
func (a *adapter) Errorf(format string, v ...any)  { a.fail(fmt.Sprintf(format, v...)) }
func (a *adapter) Debugf(format string, v ...any)  { a.log.Debug(fmt.Sprintf(format, v...)) }
func (a *adapter) Tracef(format string, v ...any)  { a.log.Trace(fmt.Sprintf(format, v...)) }

// Fatalf does not end the process: Start reports it.
func (a *adapter) Fatalf(format string, v ...any) { a.fail(fmt.Sprintf(format, v...)) }

// warn writes a warning. That a client was held back for a moment, so that another can follow, is as it should be.
func (a *adapter) warn(text string) {
	if strings.Contains(text, "Producer was stalled") {
		a.log.Debug(text)
		return
	}
	a.log.Warn(text)
}

func (a *adapter) fail(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = text
	switch {
	case !a.started:
		a.log.Debug(text)
	case ofClient(text):
		if told, more := a.clients.take(time.Now()); told {
			a.log.Warn(text, more...)
		}
	default:
		a.log.Error(text)
	}
}

// ofClient reports whether an error of the server is one of a client, which is told what is wrong and tries on.
func ofClient(text string) bool {
	for _, part := range []string{"authentication error", "Violation", "TLS handshake error"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// ready notes that the server has started.
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

// What clients do wrong is told so often per time; a client with a wrong key, or a stranger, is not to fill the log.
const (
	rationTime  = 10 * time.Second
	rationLines = 3
)

// ration counts lines that are like each other.
type ration struct {
	from    time.Time
	told    int
	leftOut int
}

// take reports whether a line is to be written, with how many were left out before it.
func (r *ration) take(now time.Time) (told bool, more []any) {
	if now.Sub(r.from) >= rationTime {
		r.from, r.told = now, 0
	}
	if r.told++; r.told > rationLines {
		r.leftOut++
		return false, nil
	}
	if r.leftOut > 0 {
		more = []any{"left_out", r.leftOut}
	}
	r.leftOut = 0
	return true, more
}
