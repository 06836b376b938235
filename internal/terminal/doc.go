// Package terminal writes what a person watches: log lines, and one status line that is
// repainted in place.
//
// It does not know what is being trained, and it looks at no environment variable:
// whoever makes a Screen says whether it is a terminal and how wide.
package terminal
