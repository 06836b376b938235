package config

import (
	"errors"
	"fmt"
)

// ErrUsage marks mistakes that the caller can correct: in arguments or in a configuration.
var ErrUsage = errors.New("usage")

// usage marks an error as the caller's mistake: it matches ErrUsage and its text is unchanged.
type usage struct{ error }

func (usage) Is(target error) bool { return target == ErrUsage }
func (e usage) Unwrap() error      { return e.error }

// Usage marks an error as the caller's mistake; wrapping it keeps the mark. A nil error must not be marked: the
// result is never nil.
func Usage(err error) error { return usage{err} }

// Usagef is Usage of fmt.Errorf, with %w as there.
func Usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// hinted is an error with a hint, which is not part of its text.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

// Hint adds a hint to an error; a nil error stays nil. The hint does not change the text of the error nor what it
// matches. It is a clause without a full stop, which is printed in a line of its own.
func Hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return hinted{err, fmt.Sprintf(format, args...)}
}

// HintOf is the outermost hint of an error; empty if it has none. Whoever hints last knows most of what the user
// did.
func HintOf(err error) string {
	var h hinted
	errors.As(err, &h)
	return h.hint
}

// Command writes a command line of this program as its user would type it, for hints. Only the program itself knows how
// it was called.
type Command func(arguments ...string) string
