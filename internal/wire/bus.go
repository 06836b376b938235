package wire

import (
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/names"
)

// Bus carries messages between the parties of a run, at most once each: any of them may be lost.
type Bus interface {
	// Publish sends data to whoever is subscribed; it does not keep data. It returns ErrTooLarge for data longer than
	// MaxPayload, and an error at once when the carrier is away: nothing is held back to be sent later.
	Publish(subject string, data []byte) error
	// Subscribe calls handle for each message on subject, one at a time and in order, from a goroutine of the bus. The
	// handler owns the data. It should return quickly: what waits is bounded, and messages beyond are lost.
	Subscribe(subject string, handle func(data []byte)) (Subscription, error)
	// MaxPayload is the largest message in bytes.
	MaxPayload() int
}

// Subscription ends a subscription. No call of the handler begins after Unsubscribe returns.
type Subscription interface {
	Unsubscribe() error
}

// Unsubscribe ends a subscription whose handler may wait for room in an inbox. It takes from the inbox what comes
// meanwhile, so that the handler returns.
func Unsubscribe[T any](sub Subscription, inbox <-chan T) error {
	done := make(chan error, 1)
	go func() { done <- sub.Unsubscribe() }()
	for {
		select {
		case <-inbox:
		case err := <-done:
			return err
		}
	}
}

// Subjects are the subjects of one run. Data and control have subjects of their own, so that a heartbeat never waits
// behind a gradient.
type Subjects struct {
	Control string // to the coordinator: everything but chunks
	Data    string // to the coordinator: chunks
	Theta   string // to all workers: parameters
	All     string // to all workers: Introduce and End
	worker  string
}

// How the subjects of all runs begin, and those of their vectors end.
const (
	prefixOfRuns = "sy."

	dataSubject  = ".data"
	thetaSubject = ".theta"
)

// carries reports whether a subject is the one of a run with that end. A worker's has one part more.
func carries(subject, end string) bool {
	return strings.HasPrefix(subject, prefixOfRuns) && strings.HasSuffix(subject, end) && strings.Count(subject, ".") == 2
}

// SubjectsOf returns the subjects of a run, or an error if the name cannot be part of a subject.
func SubjectsOf(run string) (Subjects, error) {
	if err := CheckName(run); err != nil {
		return Subjects{}, fmt.Errorf("run name: %w", err)
	}
	base := prefixOfRuns + run
	return Subjects{
		Control: base + ".control", Data: base + dataSubject, Theta: base + thetaSubject, All: base + ".all",
		worker: base + ".worker.",
	}, nil
}

// Pool is what messages of the pool name as their run. No run can be called so: run names begin with a letter, a digit
// or '_'.
const Pool = "-pool"

// SeekSubject is where workers of the pool say that they serve no run.
const SeekSubject = "sypool.seek"

// AssignSubject is where a worker of the pool hears which run to serve.
func AssignSubject(id string) string { return "sypool.worker." + id }

// Worker is the subject of one worker: control and the chunks that it asked for.
func (s Subjects) Worker(id string) string { return s.worker + id }

// CheckName returns what is wrong with a name that is to be part of a subject.
func CheckName(name string) error { return names.Check(name) }
