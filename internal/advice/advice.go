// Package advice holds errors that say what their reader can do: a hint beside what happened, and whether the caller can
// put it right. It does not know how errors are shown, nor which exit code they get.
package advice

import (
	"errors"
	"fmt"
)

// ErrUsage marks what the caller can put right: arguments or a configuration.
var ErrUsage = errors.New("usage")

// usage is an error of the caller; it matches ErrUsage and reads as it is.
type usage struct{ error }

func (usage) Is(target error) bool { return target == ErrUsage }
func (e usage) Unwrap() error      { return e.error }

// Usage marks an error as one of the caller.
func Usage(err error) error { return usage{err} }

// Usagef is Usage of fmt.Errorf.
func Usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// hinted is an error with advice, which does not stand in its text.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

// Hint adds what to do to an error; nil stays nil.
func Hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return hinted{err, fmt.Sprintf(format, args...)}
}

// Of is the outermost hint that an error carries, empty if there is none.
func Of(err error) string {
	var h hinted
	errors.As(err, &h)
	return h.hint
}

// Command is a command line of this program as its user would type it, for hints. Only the program knows how it was
// called.
type Command func(arguments ...string) string
