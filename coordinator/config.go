package coordinator

import (
	"errors"
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

// Exchange is the way of gradients to the coordinator.
type Exchange = exchange.Mode

// The ways.
const (
	Star    = exchange.Star
	Sharded = exchange.Sharded
	Auto    = exchange.Auto
)

// Config says what a run is. The parameters' bits are decided by Steps, Shards, Optimizer, Outer, Average, Gradients,
// Parameters, and what Job and Data say; where Patience is set, also by ValidateEvery and ValidationShards. All other
// fields leave them as they are.
type Config struct {
	Run    string // name of the run, part of its subjects: letters, digits, '-', '_'
	Seed   uint64 // recorded in checkpoints
	Steps  uint64 // updates until the run is complete
	Shards int    // shards per step, or replicas; a power of two

	Optimizer Optimizer
	Outer     Outer   // zero: the run is synchronous
	Average   float64 // memory of the average of the parameters over updates, which is validated in their place; 0: none

	// Gradients is the form in which gradients travel. As Int16 they are rounded to integers with shared scales, which
	// decides the parameters' bits: see package vector.
	Gradients wire.Coding
	// Parameters is the form in which parameters travel. As Int16 or Int8 they are what results when differences from
	// step to step are rounded to integers, which decides their bits: see vector.Difference.
	Parameters wire.Coding

	ValidateEvery    uint64 // steps between validations, which also end the run; 0: only at the end
	ValidationShards int    // shards of a validation, a power of two; 0: no validation
	Patience         uint64 // validations without a lower loss after which the run ends before Steps; 0: it does not
	CheckpointEvery  uint64 // steps between checkpoints, which also end the run; 0: only at the end

	FailureDetection time.Duration // silence after which a worker counts as lost; all other time limits follow from it

	Chunk  int // bytes of a vector per message; cut down to what the bus carries
	Credit int // bytes of gradients and data set that may be in flight at a time

	Exchange Exchange // how gradients get here

	Job []byte // what workers build the program from; not looked into
	// data set for the program, fetched by workers that lack it; not looked into, not copied; empty: none
	Data      []byte
	TermNames []string // names of the loss terms; the first is the loss
	Layout    []Tensor // names and places of the tensors in the parameters, without gaps; empty: one tensor "theta"
	Dir       string   // folder of the checkpoints; made if missing

	Identity string    // digest of what in Job decides the parameters' bits; empty: the hash of Job
	Log      string    // path of the log of steps; empty: none
	Disk     disk.Disk // where checkpoints and log are written; nil: the operating system's files

	// Gate decides which messages of workers are looked at; nil: all.
	Gate *wire.Gate
	// Memory is shared with workers of this host, for parameters and gradients; nil: all go over the bus.
	Memory shm.Host

	Audit float64 // share of the blocks that are computed a second time; 0 to 1
	// AuditSums is the least share of what is computed a second time where workers sum the gradient: of their sums,
	// and of the blocks that they sum; 0 to 1.
	AuditSums float64
	Numerics  []wire.Numeric // fingerprint that a worker's must equal; empty: not checked
	Golden    string         // hash of the golden shard that a worker's must equal; empty: not checked
	Referee   Referee        // computes a block anew when workers disagree; nil: nobody does
	// AuditHere lets the referee, and no second worker, compute the blocks of Audit. Somebody with a worker's key can
	// have many identities, which confirm each other's blocks. If AuditHere is set and Audit is 1, nobody can change a
	// bit.
	AuditHere bool

	// Ending is called, once, when the run gives out no more work: before its workers are told so, and before its last
	// files are written. It returns quickly. nil: nobody asks.
	Ending func()
}

// Referee computes blocks in this process.
type Referee = trust.Compute

// Optimizer holds the constants of Adam: the coordinator's, or with local steps that of the replicas.
type Optimizer = vector.Schedule

// Outer makes the run one of local steps. The shards of a step are replicas, each of which makes Every updates by
// itself. A worker delivers the difference between a replica's parameters and those that the step began with. Steps,
// intervals and reports count the updates of a replica.
type Outer = vector.Outer

// identity names what decides the parameters' bits.
func (c *Config) identity() string {
	if c.Identity != "" {
		return c.Identity
	}
	return wire.HashData(c.Job)
}

// headroom is what a message needs beside its chunk.
const headroom = 4096

// validate returns all errors of the configuration for the given number of parameters, joined. The error wraps
// ErrConfig.
func (c *Config) validate(size int) error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if err := wire.CheckName(c.Run); err != nil {
		errs = append(errs, fmt.Errorf("run name: %w", err))
	}
	check(size > 0, "there are no parameters")
	check(vector.PowerOfTwo(c.Shards), "shards: %d is not a power of two", c.Shards)
	check(c.ValidationShards == 0 || vector.PowerOfTwo(c.ValidationShards), "validation shards: %d is not a power of two",
		c.ValidationShards)
	check(c.FailureDetection >= 20*time.Millisecond, "failure detection: %v is below 20ms", c.FailureDetection)
	check(c.Chunk >= 64, "chunk: %d bytes are below 64", c.Chunk)
	check(c.Credit >= c.Chunk, "credit: %d bytes are below one chunk of %d", c.Credit, c.Chunk)
	check(len(c.Data) == 0 || c.Credit >= 2*c.Chunk, "credit: %d bytes are below two chunks of %d, which a data set needs",
		c.Credit, c.Chunk)
	c.limits(size, check)
	check(c.Exchange <= Auto, "exchange: %d is not known", c.Exchange)
	check(c.Dir != "", "checkpoint folder is not set")
	check(c.Audit >= 0 && c.Audit <= 1, "audit: %g is not in [0,1]", c.Audit)
	check(c.AuditSums >= 0 && c.AuditSums <= 1, "audit of sums: %g is not in [0,1]", c.AuditSums)
	check(!c.AuditHere || c.Referee != nil, "audits are to be done here, but there is no referee")
	check(c.Average >= 0 && c.Average < 1, "average: %g is not in [0,1)", c.Average)
	if err := c.Optimizer.Validate(); err != nil {
		errs = append(errs, err)
	}
	if err := c.rounds(); err != nil {
		errs = append(errs, err)
	}
	if err := checkpoint.CheckLayout(c.Layout, size); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.grid(size); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.changes(size); err != nil {
		errs = append(errs, err)
	}
	check(c.Gradients == wire.Float32 || c.Outer.Every == 0, "gradients as integers: what replicas of local steps "+
		"exchange is no gradient")
	check(c.Gradients <= wire.Int8, "gradients: coding %d is not known", c.Gradients)
	check(c.Parameters <= wire.Int8, "parameters: coding %d is not known", c.Parameters)
	check(len(c.Layout) <= wire.MaxTensors, "layout: %d tensors exceed %d", len(c.Layout), wire.MaxTensors)
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrConfig, errors.Join(errs...))
	}
	return nil
}

// rounds checks that all numbers of updates are multiples of the local steps of a round.
func (c *Config) rounds() error {
	h := c.Outer.Every
	if h == 0 {
		return nil
	}
	var errs []error
	if c.Gradients != wire.Float32 {
		errs = append(errs, errors.New("what replicas have gone travels as float32 only"))
	}
	if c.Outer.Rate <= 0 || c.Outer.Momentum < 0 || c.Outer.Momentum >= 1 {
		errs = append(errs, fmt.Errorf("outer rate %g and momentum %g: want a positive one and one in [0,1)", c.Outer.Rate,
			c.Outer.Momentum))
	}
	for _, n := range []struct {
		what  string
		steps uint64
	}{{"steps", c.Steps}, {"validation", c.ValidateEvery}, {"checkpoints", c.CheckpointEvery}} {
		if n.steps%h != 0 {
			errs = append(errs, fmt.Errorf("%s: %d is not a multiple of the %d local steps of a round", n.what, n.steps, h))
		}
	}
	return errors.Join(errs...)
}

// limits checks what messages and checkpoints can hold.
func (c *Config) limits(size int, check func(ok bool, format string, args ...any)) {
	check(size <= checkpoint.MaxParameters, "%d parameters exceed %d, the most that a checkpoint holds", size,
		checkpoint.MaxParameters)
	check(int64(c.Shards) <= wire.MaxCount, "shards: %d exceed %d", c.Shards, int64(wire.MaxCount))
	check(int64(c.ValidationShards) <= wire.MaxCount, "validation shards: %d exceed %d", c.ValidationShards,
		int64(wire.MaxCount))
	check(len(c.TermNames) > 0 && len(c.TermNames) <= wire.MaxTerms, "term names: %d, want 1 to %d", len(c.TermNames),
		wire.MaxTerms)
	for _, name := range c.TermNames {
		check(len(name) <= wire.MaxText, "term name %.20q...: %d bytes exceed %d", name, len(name), wire.MaxText)
	}
	check(len(c.Job) <= wire.MaxJob, "job: %d bytes exceed %d", len(c.Job), wire.MaxJob)
	check(len(c.Data) <= wire.MaxData, "data set: %d bytes exceed %d, the most that is sent to workers", len(c.Data),
		wire.MaxData)
}

var (
	// ErrConfig is returned by New for a configuration that cannot be run.
	ErrConfig = errors.New("coordinator: invalid configuration")
	// ErrInterrupted is returned by Run when its context ended the run before the last step; a checkpoint is written.
	ErrInterrupted = errors.New("coordinator: interrupted")
	// ErrDiverged is returned by Run when a block failed twice at the same parameters, or an update is not finite.
	ErrDiverged = errors.New("coordinator: run diverged")
	// ErrDisputed is returned by Run when workers compute different bits and nobody is there to decide, or the referee
	// fails.
	ErrDisputed = errors.New("coordinator: workers disagree")
	// ErrMismatch is returned by Resume for a checkpoint of another run or another number of parameters.
	ErrMismatch = errors.New("coordinator: checkpoint does not belong to this run")
	// ErrReplay is returned by Run when a step that the log holds, made once more, gives other parameters.
	ErrReplay = errors.New("coordinator: a step cannot be repeated")
)
