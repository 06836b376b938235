// Package cmd holds the commands of switchyard. They parse arguments, call the library, print results and choose the
// exit code; the work itself is done by other packages. A program with environments and models of its own gets every
// command by calling Main.
package cmd

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// Main runs the command line of this process and ends the process. No other function reads the arguments, the
// environment, the signals and the terminal of the process: Main passes them to the commands. The registry lists the
// environments and models that the commands know.
func Main(r *config.Registry) {
	// Two signals fit: the first asks the command to end, the second asks it not to finish its work. More say
	// nothing new.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has it ignored
		signal.Notify(signals, syscall.SIGHUP)
	}
	// A write whose reader has ended fails, and does not end the process: output says so itself. The signal alone
	// does not tell, since a broken connection gives it, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	built, ok := debug.ReadBuildInfo()
	if !ok {
		built = &debug.BuildInfo{}
	}
	invoked := invocation(os.Args[0], built)
	wide := func() int { return columns(os.Stderr) }
	a := &app{
		kinds: r.Kinds(), environ: os.Environ(), signals: signals, invoked: invoked, cores: runtime.GOMAXPROCS(0),
		in:       os.Stdin,
		out:      terminal.Fold(output{file: os.Stdout, signals: signals}, func() int { return columns(os.Stdout) }, invoked),
		err:      terminal.Fold(output{file: os.Stderr, signals: signals, remarks: true}, wide, invoked),
		terminal: term.IsTerminal(int(os.Stderr.Fd())), width: wide,
	}
	os.Exit(a.run(os.Args[1:]))
}

// output is what a command writes to. It asks the command to end when the program that reads it has ended.
type output struct {
	file    *os.File
	signals chan<- os.Signal
	remarks bool // no results: work goes on without them
}

// Write writes to the file. The error is errPipe if nobody reads it any more. Remarks that cannot be written otherwise,
// as on a full disk, are lost.
func (o output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	switch {
	case errors.Is(err, syscall.EPIPE):
	case o.remarks:
		return len(p), nil
	default:
		return n, err
	}
	select {
	case o.signals <- syscall.SIGPIPE:
	default: // it has been asked
	}
	return n, errPipe
}

// columns is the number of columns of the terminal that f is; 0 if f is none, such as a file or a pipe, whose lines
// are not broken. It is asked before each write, because a window may change its size.
func columns(f *os.File) int {
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}
