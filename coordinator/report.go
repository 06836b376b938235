package coordinator

import "github.com/switchyard-ml/switchyard/internal/vector"

// Observer hears what happens in a run, from the coordinator's goroutine: it should return quickly. What reports
// point to belongs to the observer.
type Observer interface {
	Step(StepReport)
	Validation(ValidationReport)
	Checkpoint(CheckpointReport)
	Membership(MembershipReport)
	Storage(StorageReport)
	Rollback(RollbackReport)
}

// StepReport is about an update. Step counts updates, 1 after the first. Loss holds the mean of each term over the
// shards; the slice belongs to the observer. GradNorm is the norm before clipping, Seconds the time since the step
// before. Compute is how long the busiest worker computed, Work how long all did together, in seconds and as they say.
// Of the Workers so many are Sharing memory with the coordinator: their vectors are not in BytesIn and BytesOut. With
// local steps a report is of a round of several Updates, Step the last of them, Loss the mean over all, GradNorm that
// of what the replicas have gone in the mean, and Rate the learning rate of the first of their updates. An update
// that is LeftOut has changed no parameter: its gradient was outlying.
type StepReport struct {
	Step, Updates     uint64
	Loss              []float32
	GradNorm, Rate    float64
	Workers, Sharing  int
	Seconds           float64
	Compute, Work     float64
	BytesIn, BytesOut int64
	LeftOut           bool
	Retreated         bool               // the parameters went back to their average: see vector.Retreat
	Magnitudes        *vector.Magnitudes // nil but about mostMagnitudes times in a run
}

// WorkerBytes is what the step moved to and from each worker. What goes out to all of them is counted once in BytesOut,
// and reaches each.
func (r *StepReport) WorkerBytes() float64 {
	return (float64(r.BytesIn)/float64(max(r.Workers, 1)) + float64(r.BytesOut)) / float64(max(r.Updates, 1))
}

// ValidationReport is about a validation of the parameters after Step updates.
type ValidationReport struct {
	Step uint64
	Loss []float32
	Best bool // the lowest loss so far
}

// CheckpointReport is about a checkpoint that is safe on disk.
type CheckpointReport struct {
	Step         uint64
	Path         string // of the manifest
	ParamsSHA256 string
	Best         bool
	Seconds      float64
}

// StorageReport is about a file that cannot be written, each time that it was tried in vain, and when it is written in
// the end. The run goes on meanwhile.
type StorageReport struct {
	What    string  // what is not on disk: the log, or which checkpoint
	Err     error   // nil: all is well again
	Seconds float64 // for how long that has been so
}

// RollbackReport says that the run went back to the parameters after Step updates, 0 for the initial ones: what was
// reported of later steps is void.
type RollbackReport struct {
	Step       uint64
	Reason     string
	Checkpoint *Checkpoint // the state that it goes on from; the observer must neither keep nor change it
}

// MembershipReport says who is there, when that changes and, while the run waits, once a second.
type MembershipReport struct {
	Workers, Slots int
	Joined, Left   string  // id of the worker that came or went, if any
	Reason         string  // why it left
	Waiting        string  // what the run waits for; empty while it goes on
	Seconds        float64 // for how long it has waited
}

// Reason names why a message was refused. A refused message changes nothing.
type Reason string

// The reasons.
const (
	ReasonMalformed Reason = "malformed" // no message of this protocol, or one beyond its bounds
	ReasonVersion   Reason = "version"   // another protocol version
	ReasonRun       Reason = "run"       // another run
	ReasonTerm      Reason = "term"      // another incarnation of the coordinator
	ReasonWorker    Reason = "worker"    // the sender is no member
	ReasonStep      Reason = "step"      // another step than the one under way
	ReasonLease     Reason = "lease"     // no lease, or not the sender's
	ReasonBlock     Reason = "block"     // not the block, the attempt or the work that was leased
	ReasonLength    Reason = "length"    // wrong number of parameters, terms or bytes
	ReasonChecksum  Reason = "checksum"  // the bytes are not those that were announced
	ReasonDuplicate Reason = "duplicate" // already there
	// a request for another data set, or for pieces or chunks that are not there or listed twice
	ReasonData        Reason = "data"
	ReasonUnrequested Reason = "unrequested" // a chunk that was not asked for
	ReasonNonFinite   Reason = "nonfinite"   // a NaN or an infinity
	ReasonFault       Reason = "fault"       // the worker could not compute the block
	ReasonUnanswered  Reason = "unanswered"  // the worker is alive but does not deliver

	ReasonToken       Reason = "token"       // under the id of a member, but not with its token
	ReasonNumerics    Reason = "numerics"    // other arithmetic than the run's
	ReasonJob         Reason = "job"         // the program of another job
	ReasonGolden      Reason = "golden"      // a program that computes something else
	ReasonQuarantined Reason = "quarantined" // the sender was cut off
)

// Expected reports whether messages are refused for that reason in any run: they were late, or were sent again because
// an answer was. On a busy machine honest workers have such messages, too.
func (r Reason) Expected() bool {
	return r == ReasonDuplicate || r == ReasonStep || r == ReasonTerm
}

// Rejection counts the messages of one sender that were refused for one reason. Senders that are no members are counted
// together under the empty name.
type Rejection struct {
	Worker string
	Reason Reason
	Count  int64
}
