package wire

import (
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Bus carries messages between the parties of a run, at most once each: any of them may be lost.
type Bus interface {
	// Publish sends data to whoever is subscribed; it does not keep data. It returns ErrTooLarge for data longer than
	// MaxPayload, and an error at once when the carrier is away: nothing is held back to be sent later.
	Publish(subject string, data []byte) error
	// Subscribe calls handle for each message on subject, one at a time and in order, from a goroutine of the bus. The
	// handler owns the data. It should return quickly: what waits is bounded, and messages beyond are lost.
	Subscribe(subject string, handle func(data []byte)) (Subscription, error)
	// Hear is Subscribe for what the holders of all keys say on subject, see By. The handler is told who spoke: the
	// name of a key, which the broker has proved, or NoKey.
	Hear(subject string, handle func(key string, data []byte)) (Subscription, error)
	// Key is the name of the key that this party connects with; NoKey if it has none.
	Key() string
	// MaxPayload is the largest message in bytes.
	MaxPayload() int
}

// Subscription ends a subscription. No call of the handler begins after Unsubscribe returns.
type Subscription interface {
	Unsubscribe() error
}

// Unsubscribe ends a subscription whose handler may wait for room in an inbox. It takes from the inbox what comes
// meanwhile, so that the handler returns. What it takes is lost.
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
	// The last part of the first two, of what workers say, is a key: see By. A worker's subject is
	// sy.RUN.worker.KEY.ID, and where it hears others sy.RUN.peer.KEY.ID and the key of who speaks.
	Control string // to the coordinator, see By: everything but chunks
	Data    string // to the coordinator, see By: chunks
	Theta   string // to all workers: parameters
	All     string // to all workers: Introduce and End
	worker  string
	peer    string
}

// By returns the subjects on which the holder of a key speaks.
func (s Subjects) By(key string) Subjects {
	s.Control, s.Data = By(s.Control, key), By(s.Data, key)
	return s
}

// How the subjects of all runs begin, and those of their vectors end.
const (
	prefixOfRuns = "sy."

	dataSubject  = ".data"
	thetaSubject = ".theta"
)

// carries reports whether a subject is the one of a run with that end. A worker's has two parts more. It is called
// for every message, and looks at the text alone.
func carries(subject, end string) bool {
	return strings.HasPrefix(subject, prefixOfRuns) && strings.HasSuffix(subject, end) && strings.Count(subject, ".") == 2
}

// SubjectsOf returns the subjects of a run, or an error if the name cannot be part of a subject.
func SubjectsOf(run string) (Subjects, error) {
	if err := CheckName(run); err != nil {
		return Subjects{}, fmt.Errorf("run name: %w", err)
	}
	// A name has no dots, so a run has its own subjects and nobody else's.
	base := prefixOfRuns + run
	return Subjects{
		Control: base + ".control", Data: base + dataSubject, Theta: base + thetaSubject, All: base + ".all",
		worker: base + ".worker.", peer: base + ".peer.",
	}, nil
}

// Pool is what messages of the pool name as their run. No run can be called so: run names begin with a letter, a digit
// or '_'.
const Pool = "-pool"

// SeekSubject is where workers of the pool say that they serve no run; see By.
const SeekSubject = "sypool.seek"

// BansSubject is where brokers of ours hear, from a coordinator, the names of the keys to let in no more, as a JSON
// list.
const BansSubject = "sybroker.bans"

// AssignSubject is where a worker of the pool hears which run to serve. It is called by its Name.
func AssignSubject(name string) string { return direct("sypool.worker.", name) }

// OldAssignSubject is AssignSubject in protocol versions before FirstKeyed. Such a worker is told that it is too old.
func OldAssignSubject(id string) string { return "sypool.worker." + id }

// Worker is the subject of one worker, called by its Name: control and the chunks that it asked for.
func (s Subjects) Worker(name string) string { return direct(s.worker, name) }

// Peer is the subject on which a worker, called by its Name, hears other workers; see By.
func (s Subjects) Peer(name string) string { return direct(s.peer, name) }

// direct is the subject of a worker. The key comes first, so that a key may subscribe to the subjects of its workers
// and to no others. An id and a key have no dots, so each is one part of a subject.
func direct(prefix, name string) string {
	id, key := SplitName(name)
	return prefix + key + "." + id
}

// CheckName returns what is wrong with a name that is to be part of a subject.
func CheckName(name string) error { return setting.Check(name) }
