package broker

import (
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// adapter writes the server's log to ours. Notices of a server that starts and stops are details here.
type adapter struct {
	log hclog.Logger

	mu   sync.Mutex
	last string
}

func (a *adapter) Noticef(format string, v ...any) { a.log.Debug(fmt.Sprintf(format, v...)) }
func (a *adapter) Warnf(format string, v ...any)   { a.log.Warn(fmt.Sprintf(format, v...)) }
func (a *adapter) Errorf(format string, v ...any)  { a.fail(fmt.Sprintf(format, v...)) }
func (a *adapter) Debugf(format string, v ...any)  { a.log.Debug(fmt.Sprintf(format, v...)) }
func (a *adapter) Tracef(format string, v ...any)  { a.log.Trace(fmt.Sprintf(format, v...)) }

// Fatalf does not end the process: Start reports it.
func (a *adapter) Fatalf(format string, v ...any) { a.fail(fmt.Sprintf(format, v...)) }

func (a *adapter) fail(text string) {
	a.mu.Lock()
	a.last = text
	a.mu.Unlock()
	a.log.Error(text)
}

// lastError is the last error that the server logged.
func (a *adapter) lastError() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}
