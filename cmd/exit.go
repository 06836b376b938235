package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/trained"
)

// The exit codes that scripts rely on.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2 // wrong arguments or configuration
	exitInterrupted = 3 // stopped on request, with a checkpoint
	exitData        = 4 // a file of a run, a checkpoint or data cannot be used
)

// exitCodes maps errors to exit codes. The first match decides; an error without a match has exitFailed.
var exitCodes = []struct {
	target error
	code   int
}{
	{config.ErrUsage, exitUsage},
	{store.ErrOccupied, exitUsage},
	{store.ErrName, exitUsage},
	{store.ErrNotFound, exitUsage},
	{store.ErrHeld, exitUsage},
	{switchyard.ErrUnable, exitUsage},
	{trained.ErrEnding, exitUsage},
	{switchyard.ErrSeries, exitData},
	{checkpoint.ErrCorrupt, exitData},
	{coordinator.ErrMismatch, exitData},
	{store.ErrDamaged, exitData},
	{files.ErrData, exitData},
	{cluster.ErrDamaged, exitData},
	{cluster.ErrKeys, exitData},
	{syscall.ENOSPC, exitFailed}, // before ErrInterrupted: the checkpoint may be missing
	{coordinator.ErrInterrupted, exitInterrupted},
}

func exitCode(err error) int {
	var problems *config.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &problems):
		return exitUsage
	}
	for _, e := range exitCodes {
		if errors.Is(err, e.target) {
			return e.code
		}
	}
	return exitFailed
}

// mistaken reports whether an error is the user's: in a configuration, a name or data.
func mistaken(err error) bool {
	code := exitCode(err)
	return code == exitUsage || code == exitData
}

// complain prints an error, and its hint in the next line.
func (a *app) complain(err error) {
	hint := config.HintOf(err)
	switch {
	case a.logFormat == "json":
		var fields []any
		if hint != "" {
			fields = append(fields, "hint", hint)
		}
		a.logger(a.err, hclog.Info).Error(err.Error(), fields...)
	case hint != "":
		fmt.Fprintf(a.err, "error: %v\nhint: %s\n", err, hint)
	default:
		fmt.Fprintf(a.err, "error: %v\n", err)
	}
}

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

// errInterrupted is returned when the user ended work that leaves nothing behind.
var errInterrupted = errors.New("interrupted: nothing was written")

// leftovers are the files and folders that exist only while work is done.
type leftovers struct {
	mu    sync.Mutex
	paths map[string]bool
	over  bool // the work was interrupted: nothing may be made any more
}

// add notes a path before it is made, and returns the function that forgets it. It returns an error after an
// interruption.
func (l *leftovers) add(path string) (forget func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil, errInterrupted
	}
	if l.paths == nil {
		l.paths = map[string]bool{}
	}
	l.paths[path] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.paths, path)
	}, nil
}

// remove removes what the interrupted work would leave behind.
func (l *leftovers) remove() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	var all []error
	for path := range l.paths {
		all = append(all, os.RemoveAll(path))
	}
	return errors.Join(all...)
}

// atOnce runs work that may be ended at any time: the first signal ends it, and removes what it would leave behind. The
// work itself goes on until the process ends.
func (a *app) atOnce(work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-a.signals:
		return errors.Join(errInterrupted, a.leftovers.remove())
	}
}
