package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// errAborted is the error of work that the user would not wait for.
var errAborted = errors.New("aborted")

// untilInterrupted does work. At the first signal it says what happens now and ends
// the context; at the second it leaves the work behind and returns errAborted.
func (a *app) untilInterrupted(say io.Writer, what string, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	asked := false
	for {
		select {
		case err := <-done:
			return err
		case <-a.signals:
			if asked {
				return errAborted
			}
			asked = true
			fmt.Fprintf(say, "%s; press again to abort\n", what)
			cancel()
		}
	}
}
