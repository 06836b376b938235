package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
)

// errAborted is returned when the user did not wait for the end of the work.
var errAborted = errors.New("aborted")

// sameSignal is the time within which a second signal counts as the first. A program that ends others, such as timeout,
// signals the process and then its process group.
const sameSignal = 200 * time.Millisecond

// untilInterrupted runs work. The first signal ends the context of the work, and a line says what happens next. The
// second signal returns errAborted without waiting for the work.
func (a *app) untilInterrupted(to io.Writer, what string, work func(context.Context) error) error {
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
				a.announceInterrupt(to, what)
				cancel()
			case time.Since(asked) >= sameSignal:
				return errAborted
			}
		}
	}
}

// announceInterrupt writes what happens after a signal; if the log has records, it is a record.
func (a *app) announceInterrupt(to io.Writer, what string) {
	if a.logFormat == "json" {
		a.logger(to, hclog.Info).Info(what, "next", "signal again to abort")
		return
	}
	fmt.Fprintf(to, "%s; press again to abort\n", what)
}
