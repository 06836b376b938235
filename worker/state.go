package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// Worker serves one run. The goroutine of Run owns all of it but the channels, on which messages, built programs and
// computed tasks come, and what is atomic.
type Worker struct {
	cfg      Config
	pooled   bool // it belongs to the pool: if its coordinator is silent, it can leave
	bus      wire.Bus
	log      hclog.Logger
	subjects wire.Subjects
	mark     uint64 // of the token
	encoder  *wire.Encoder
	gate     *wire.Gate
	inbox    chan delivery
	closing  chan struct{} // closed when Run returns, so that handlers do not block
	always   chan struct{} // closed

	terms
	layout
	construction
	parameters
	work
	peers
	rhythm

	unfit      map[wire.Kind]bool // kinds of messages that can never be sent, and that are logged
	goroutines sync.WaitGroup     // slots, and the build of a program
}

// terms are whom the worker obeys.
//
// Invariant: term never falls; what an older term says is dropped.
type terms struct {
	trusted  atomic.Bool // a coordinator has given it a lease
	term     uint64
	outdated uint64 // the newest older term that was logged, plus 1
	welcomed bool
}

// layout is how vectors are cut and coded, as the Welcome says. It changes with a Welcome or with the program: see
// shape.
type layout struct {
	size    int            // number of parameters
	chunk   int            // bytes of a full chunk
	rounder vector.Rounder // no grid: gradients are float32
	changes *vector.Grid   // of the differences in which parameters may come; nil: they come whole
	chunks  wire.Chunking  // of the loaded vector: the parameters, then the exponents of integers
	sums    wire.Chunking  // of the gradient of a block
}

// construction is how the program of a job comes about: the data set is fetched, then a goroutine builds the program.
//
// Invariant: at most one build runs (building); served is program or wraps it; made is what program was built for.
type construction struct {
	wanted   order // of the newest Welcome
	data     dataset
	program  Program // nil until built
	served   Program // the program, or its Rounded
	made     order   // what the program was built for
	golden   string  // hash of the program's golden shard; empty: the program failed
	building bool
	built    chan build
}

// parameters are the vector that the program computes with, and how the next one arrives.
//
// Invariant: the program's parameters are those of step loaded−1 and of its pass; they change only while no task
// runs.
type parameters struct {
	theta      assembly
	relay      relay         // of the current pass
	early      []*wire.Theta // from other workers, before it is known who hands on what
	earlyBytes int
	loaded     uint64   // step+1 of the program's parameters; 0: none are loaded
	pass       int      // of that step
	hearing    *hearing // of chunks of the parameters; nil: they lie in shared memory
}

// work is what the worker computes and has announced.
//
// Invariant: running is the number of tasks that were sent to tasks and have not come back on computed. A lease keeps
// its memory until parameters of a later step arrive.
type work struct {
	leased   bool      // a lease has arrived since the last reset: so the coordinator has the Ready
	leases   []*lease  // of the newest known step
	memory   *vectors  // of the results of these
	tasks    chan task // to the slots
	computed chan task // from them
	running  int       // tasks that slots are computing
	prefetch prefetch  // what slots prepare when they have no task
	sending  []chunkOf // pulled and not sent yet
	sharing  sharing
}

// peers is the exchange with other workers: sections of sums, and parameters that are handed on.
type peers struct {
	met     wire.Subscription // to what other workers say; nil: nobody is heard yet
	gave    map[string]int    // by key: chunks that were sent to other workers in this pass
	parts   map[int]*vectors  // memory for sums of sections, by size
	peersAt time.Time         // when a chunk of another worker last came
	peerLag wire.Lag          // of such chunks
}

// rhythm is when the worker speaks, and how long the coordinator has been silent. All but turned belongs to the
// goroutine of Run.
type rhythm struct {
	heartbeat time.Duration // longest time between two, as the Welcome says
	turned    atomic.Int64  // when the goroutine of Run last looked at the time, in Unix nanoseconds
	lastBeat  time.Time     // when the last heartbeat was sent
	stirred   time.Time     // when the worker was last told something, or has announced something
	beats     int           // heartbeats since
	lastHi    time.Time     // when the last Hello was sent
	repeated  bool          // a second Hello was sent soon after the first, which may have been lost
	heardAt   time.Time     // time of the coordinator's last message, or of the start of Run
	silent    bool          // its silence is logged
}
