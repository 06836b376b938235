package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
)

// A signal ends work in one of four ways. untilSaved waits for a checkpoint, however long that takes, unless a
// second signal comes. untilSignal waits for less than a second. atOnce does not wait, and removes what the work
// would leave behind. Where a command does none of these, endable ends it at once.
//
// A write whose reader has ended counts as a signal, SIGPIPE: tee, for one, ends by the same Ctrl-C. It asks work to
// end, but never twice, since each further line gives another one.

// errAborted is returned when the user did not wait for the end of the work.
var errAborted = errors.New("aborted")

// sameSignal is the time within which a second signal counts as the first. A program that ends others, such as timeout,
// signals the process and then its process group.
const sameSignal = 200 * time.Millisecond

// grace is the time that work has to end after a signal, if it leaves nothing that is worth a wait.
const grace = 800 * time.Millisecond

// untilSaved runs work that writes a checkpoint when its context ends, however long its step takes. The first signal
// ends the context, and a line says what happens next. The second signal, unless it is SIGPIPE, returns errAborted
// without waiting.
func (a *app) untilSaved(to io.Writer, what string, work func(context.Context) error) error {
	return a.untilInterrupted(to, what, nil, work)
}

// untilSignal runs work that a signal ends within a second: the signal ends the context of the work, a line says what
// happens, and what has not ended then is left as it is, with errAborted.
func (a *app) untilSignal(to io.Writer, what string, work func(context.Context) error) error {
	return a.untilInterrupted(to, what, time.After, work)
}

// untilInterrupted is untilSaved, or untilSignal if there is a timer.
func (a *app) untilInterrupted(to io.Writer, what string, timer func(time.Duration) <-chan time.Time,
	work func(context.Context) error,
) error {
	// Whatever ends this function ends the context, so that work which is left behind does not go on unasked.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals, release := a.watch.claim()
	defer release()
	// The channel has room, so that work which nobody waits for any more can still end.
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	var asked time.Time
	var over <-chan time.Time
	for {
		var s os.Signal
		select {
		case err := <-done:
			return err
		case <-over:
			return errAborted
		case s = <-signals:
		}
		switch {
		case asked.IsZero():
			asked = time.Now()
			cancel()
			if timer != nil {
				over = timer(grace)
			}
			a.announceInterrupt(to, what, timer == nil)
		case s != syscall.SIGPIPE && time.Since(asked) >= sameSignal:
			return errAborted
		}
	}
}

// watch hands signals to the work that waits for them. While no work does, a signal ends the command at once. Work
// may be nested; only the innermost gets the signals. A watch is safe for concurrent use.
type watch struct {
	mu      sync.Mutex
	waiting []chan os.Signal // the innermost work last
}

// claim returns a channel that gets the signals from now on, until release is called.
func (w *watch) claim() (signals <-chan os.Signal, release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	mine := make(chan os.Signal, 2)
	w.waiting = append(w.waiting, mine)
	return mine, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waiting = slices.DeleteFunc(w.waiting, func(c chan os.Signal) bool { return c == mine })
	}
}

// forward hands a signal to the innermost work, and reports whether there is any.
func (w *watch) forward(s os.Signal) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return false
	}
	select {
	case w.waiting[len(w.waiting)-1] <- s:
	default: // it has two already
	}
	return true
}

// endable runs a command. A signal that no work of the command waits for ends it at once, whatever it does: it may wait
// for a file, for a program that reads its output, or for an answer. One that counts as the signal that work has just
// got does not: that work has ended meanwhile, and what the command does behind it is to be done.
func (a *app) endable(command func() error) error {
	done := make(chan error, 1)
	go func() { done <- command() }()
	var forwarded time.Time
	for {
		select {
		case err := <-done:
			return err
		case s := <-a.signals:
			switch {
			case a.watch.forward(s):
				forwarded = time.Now()
			case s == syscall.SIGPIPE && !forwarded.IsZero(): // of a line about work that it has ended
			case s == syscall.SIGPIPE:
				return errors.Join(errPipe, a.leftovers.remove())
			case time.Since(forwarded) >= sameSignal:
				return errors.Join(errSignal, a.leftovers.remove())
			}
		}
	}
}

// announceInterrupt writes what happens after a signal; if the log has records, it is a record.
func (a *app) announceInterrupt(to io.Writer, what string, patient bool) {
	switch {
	case a.logFormat == "json" && patient:
		a.logger(to, hclog.Info).Info(what, "next", "signal again to abort")
	case a.logFormat == "json":
		a.logger(to, hclog.Info).Info(what)
	case patient:
		fmt.Fprintf(to, "%s; press again to abort\n", what)
	default:
		fmt.Fprintln(to, what)
	}
}

// errSignal is returned when the user ended a command that does nothing which could be lost, or that has written some
// of its results.
var errSignal = errors.New("interrupted")

// errPipe is returned when nobody reads the output of a command any more. It is not printed.
var errPipe = errors.New("the program that reads the output has ended")

// errInterrupted is returned when the user ended work that leaves nothing behind.
var errInterrupted = errors.New("interrupted: nothing was written")

// leftovers are the files and folders that exist only while work is done, until keep makes results of them.
type leftovers struct {
	mu    sync.Mutex
	paths map[string]bool
	kept  bool // a result is there
	over  bool // the work was interrupted: nothing may be made any more
}

// make makes a file or folder that is removed if the work is interrupted, and returns its path and the function that
// forgets it. An interruption comes before it or finds it there. After one it returns an error, and makes nothing.
func (l *leftovers) make(create func() (path string, err error)) (path string, forget func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return "", nil, errInterrupted
	}
	if path, err = create(); err != nil {
		return "", nil, err
	}
	if l.paths == nil {
		l.paths = map[string]bool{}
	}
	l.paths[path] = true
	return path, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.paths, path)
	}, nil
}

// keep gives what was made its final place. An interruption comes before it or after it, as in make.
func (l *leftovers) keep(place func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return errInterrupted
	}
	err := place()
	l.kept = l.kept || err == nil
	return err
}

// remove removes what the interrupted work would leave behind. Nothing is made or kept any more.
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
	signals, release := a.watch.claim()
	defer release()
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-signals:
	}
	fault := a.leftovers.remove()
	if a.leftovers.kept {
		return errors.Join(errSignal, fault)
	}
	return errors.Join(errInterrupted, fault)
}
