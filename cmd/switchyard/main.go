// Command switchyard trains switching linear dynamical systems with deep variational
// inference, data-parallel on CPUs. It wires the packages of this module together:
// it reads arguments, environment and files, prints, and decides the exit code.
package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/term"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	terminal := term.IsTerminal(int(os.Stderr.Fd()))
	a := &app{
		out: os.Stdout, err: os.Stderr, environ: os.Environ(), signals: signals,
		invoked: invocation(os.Args[0]), cores: runtime.GOMAXPROCS(0), terminal: terminal,
		width: func() int {
			columns, _, err := term.GetSize(int(os.Stderr.Fd()))
			if err != nil {
				return 0
			}
			return columns
		},
	}
	os.Exit(a.run(os.Args[1:]))
}
