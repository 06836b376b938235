// Package cmd holds the commands of switchyard. They parse arguments, call the library, print results and choose the
// exit code; the work itself is done by other packages. A program with environments and models of its own gets every
// command by calling Main.
package cmd

import (
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
	built, ok := debug.ReadBuildInfo()
	if !ok {
		built = &debug.BuildInfo{}
	}
	invoked := invocation(os.Args[0], built)
	wide := func() int { return columns(os.Stderr) }
	a := &app{
		kinds: r.Kinds(), environ: os.Environ(), signals: signals, invoked: invoked, cores: runtime.GOMAXPROCS(0),
		in:       os.Stdin,
		out:      terminal.Fold(os.Stdout, func() int { return columns(os.Stdout) }, invoked),
		err:      terminal.Fold(os.Stderr, wide, invoked),
		terminal: term.IsTerminal(int(os.Stderr.Fd())), width: wide,
	}
	os.Exit(a.run(os.Args[1:]))
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
