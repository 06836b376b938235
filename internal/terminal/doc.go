// Package terminal writes what a person watches: log lines, and one status line that is repainted in place. It also
// formats text for people: durations, large numbers, amounts with their units, and tables with aligned columns.
//
// It does not know what is trained, and it reads no environment variable: its caller says whether the output is a
// terminal, and how wide it is.
package terminal
