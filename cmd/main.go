// Package cmd holds the commands of switchyard: they parse, call the library and print, and decide the exit code. It
// knows all packages and does none of their work. A program with other environments and models gets every command by
// calling Main.
package cmd

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"

	"github.com/switchyard-ml/switchyard/internal/registry"
)

// Main runs the command line of this process and ends it. It alone reads the arguments, the environment, the signals
// and the terminal of the process, and hands them to the commands, which train the environments and models of the registry.
func Main(r *registry.Registry) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	built, ok := debug.ReadBuildInfo()
	if !ok {
		built = &debug.BuildInfo{}
	}
	a := &app{
		kinds: r.Kinds(),
		out:   os.Stdout, err: os.Stderr, environ: os.Environ(), signals: signals,
		invoked: invocation(os.Args[0], built), cores: runtime.GOMAXPROCS(0),
		terminal: term.IsTerminal(int(os.Stderr.Fd())), width: columns,
	}
	os.Exit(a.run(os.Args[1:]))
}

// columns is the width of the terminal of stderr, 0 if it is none.
func columns() int {
	n, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		return 0
	}
	return n
}
