// Package terminal writes what a person watches: log lines, and one status line that is repainted in place.
//
// It does not know what is trained, and it reads no environment variable: its caller says whether the output is a
// terminal, and how wide it is.
package terminal
