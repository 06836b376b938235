package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
)

// errAborted is the error of work that the user would not wait for.
var errAborted = errors.New("aborted")

// sameSignal is the time within which a second signal is the first: what ends processes in the name of others, as
// timeout does, signals the process and then its group.
const sameSignal = 200 * time.Millisecond

// untilInterrupted does work. At the first signal it says what happens now and ends
// the context; at the second it leaves the work behind and returns errAborted.
func (a *app) untilInterrupted(say io.Writer, what string, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	var asked time.Time
	for {
		select {
		case err := <-done:
			return err
		case <-a.signals:
			switch {
			case asked.IsZero():
				asked = time.Now()
				a.tellInterrupted(say, what)
				cancel()
			case time.Since(asked) >= sameSignal:
				return errAborted
			}
		}
	}
}

// tellInterrupted says what happens after a signal, as a record where the log has records.
func (a *app) tellInterrupted(say io.Writer, what string) {
	if a.logFormat == "json" {
		a.logger(say, hclog.Info).Info(what, "next", "signal again to abort")
		return
	}
	fmt.Fprintf(say, "%s; press again to abort\n", what)
}
