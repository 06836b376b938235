package wire

import (
	"time"

	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Version is raised whenever a message changes in a way that an older program cannot read. Oldest is the oldest version
// that this program still reads: parties whose versions lie in each other's range work together.
const (
	Version = 7
	Oldest  = 7
	// FirstKeyed is the first version with keys in subjects. From it on term and token of what a worker says have their
	// places for ever, as what comes before them.
	FirstKeyed = 5
)

// Bounds on what a message may hold. A decoder checks a length against its bound and against the bytes that are there
// before it allocates anything.
const (
	MaxName   = setting.Max // bytes in a run's name and in a worker's id
	MaxText   = 1024        // bytes in a reason, a remedy, a build id, a fault
	MaxTerms  = 64          // loss terms of a block
	MaxJob    = 1 << 19     // bytes in a job
	MaxData   = 1 << 30     // bytes in a data set
	MaxLeases = 1024        // leases listed in a heartbeat, slots of a worker
	MaxRanges = 1024        // ranges of missing chunks in one Need or Fetch
	MaxChunk  = 1 << 20     // bytes of one chunk
	MaxCount  = 1 << 31     // shards, chunks, parameters
	// MaxSources bounds the blocks that a sum of sections is made of.
	MaxSources = 1024
	// MaxListed bounds the workers that are named in a Relay.
	MaxListed = 4096
	// MaxPlace bounds places in shared memory, in bytes.
	MaxPlace = 1 << 40

	MaxNumerics = 64             // kernels listed in a fingerprint
	MaxTensors  = 1 << 14        // tensors of a model
	MaxDuration = 24 * time.Hour // of a heartbeat's interval, of a computation
)

// Clip cuts a text to what a message may hold. A character of several bytes may be cut in two.
func Clip(text string) string { return text[:min(len(text), MaxText)] }

// Header is what every message carries. Token is a random number that a worker's process draws when it starts and shows
// to nobody but the coordinator, who alone may subscribe to what workers publish: no other worker can speak in its
// name.
type Header struct {
	Run   string // name of the run; Pool for the messages of the pool
	From  string // id of the worker; empty for the coordinator. Who hears it puts the worker's Name in its place
	Term  uint64 // incarnation of the coordinator, 0 from a worker that has not met it yet
	Token uint64 // secret of the worker; from the coordinator its Mark, or 0 if the message is for anyone
}

// Head returns the header itself; it makes every message that embeds a Header a Message.
func (h *Header) Head() *Header { return h }

// Message is one of the message types of this package. Its fields method visits the fields that follow the header
// with a codec, in wire order: see codec.
type Message interface {
	Head() *Header
	fields(c *codec)
}

// Introduce asks workers to say Hello: the coordinator has started, or does not know the one who spoke.
type Introduce struct{ Header }

// Hello offers a worker to the run.
type Hello struct {
	Header
	Build    string    // build id, for people
	Slots    int       // shards that the worker computes at the same time
	Numerics []Numeric // fingerprint of the worker's arithmetic, in ascending order of the kernels' names
}

// Numeric is one line of a numerics fingerprint: a hash of what a kernel computes from fixed input.
type Numeric struct {
	Kernel string
	Sum    uint64
}

// Welcome accepts a worker. Size is the number of parameters, Chunk the bytes of a full chunk and Heartbeat the longest
// silence that is expected. Job says which program to build; wire does not look into it. DataHash, see HashData, and
// DataSize in bytes name the run's data set, which is to be fetched if the worker does not have it: empty and 0 if
// there is none.
//
// Gradients says how gradients travel. As Int16 or Int8 they are rounded with what follows, see package vector: the
// seed, the number of shards in a step, and the sizes of the tensors that the parameters are made of. The vectors of
// parameters and gradients are then longer by the number of blocks.
//
// Parameters says how parameters can travel: as Float32, or, as Int16 or Int8, also as their differences to those of
// the step before, with the tensors that they are made of. See Theta.
type Welcome struct {
	Header
	Size      int
	Chunk     int
	Heartbeat time.Duration
	Job       []byte
	DataHash  string
	DataSize  int

	Gradients  Coding
	Parameters Coding
	Seed       uint64
	Shards     int
	Tensors    []int
}

// Refusal turns a worker away, with the reason and what can be done about it. Its form is the same in all versions: in
// the place of the term it has the Mark of the worker's token, and nobody else believes it.
type Refusal struct {
	Header
	Reason, Remedy string
}

// Fetch says which pieces of the data set of that hash the worker lacks, in ascending order, and so also which have
// arrived: all others, up to the last of MaxRanges ranges. Without ranges the data set is there.
type Fetch struct {
	Header
	Hash   string
	Ranges []Range
}

// Piece is one chunk of the run's data set.
type Piece struct {
	Header
	Index int
	CRC   uint32
	Data  []byte // after decoding it aliases the message
}

// Ready says that the job's program is built: its number of parameters and the names of its loss terms. Job is the
// SHA-256 of the job that it was built from, Golden the hash of its golden shard: the gradient of shard 0 of step 0 at
// the initial parameters, see DigestPartial.
type Ready struct {
	Header
	Size   int
	Terms  []string
	Job    string
	Golden string
}

// Theta is one chunk of the parameters after Step updates, with the exponents of integers behind them. Pass counts from
// 0 how often the work at these parameters was begun anew, with other exponents; it is newer than all before.
//
// With the Coding Float32 the data are the values. With another one they are vector.Difference.Integers of the same
// elements, to be added to the values of that chunk at BaseStep and BasePass, and to no others. CRC is always the
// checksum of the values as Float32: of what comes out. Who does not have the base, or gets something else, asks with a
// Need, and gets the values.
type Theta struct {
	Header
	Step         uint64
	Pass         int
	Index, Count int
	Coding       Coding
	BaseStep     uint64
	BasePass     int
	CRC          uint32
	Data         []byte // after decoding it aliases the message
}

// Stay says that the first Count chunks of the parameters of a step are at Pass what they were at BasePass. The others
// are sent. Who does not have them of that pass asks with a Need.
type Stay struct {
	Header
	Step           uint64
	Pass, BasePass int
	Count          int
}

// Relay says that the chunks of the parameters of a step and pass come by way of workers. They are shared out in as
// many sections as there are digests, see Sections; each is sent to the worker with its number among Names, who sends
// it to all others that are named. A digest is the SHA-256 of the section's values as Float32, whatever comes.
type Relay struct {
	Header
	Step    uint64
	Pass    int
	Names   []string
	Digests string
}

// Range is the chunks [First, First+Count).
type Range struct{ First, Count int }

// Need asks for chunks of the parameters of Step that have not arrived. The ranges ascend and do not overlap.
type Need struct {
	Header
	Step   uint64
	Ranges []Range
}

// Work says what a lease asks for.
type Work uint8

// Gradient asks for gradient and loss terms, Validate for the terms alone, Sum for the sum of some sections of a
// gradient over the blocks of all workers.
const (
	Gradient Work = 1 + iota
	Validate
	Sum
)

// String returns the name of the work.
func (w Work) String() string {
	switch w {
	case Gradient:
		return "gradient"
	case Validate:
		return "validate"
	case Sum:
		return "sum"
	}
	return "unknown"
}

// Lease gives the shards [First, First+Count) of a step to a worker. ID is unique within the term; Attempt counts from
// 1 how often the block was given out. Pass is as in Theta. With Audit the result is not to be pulled: only its digest
// is wanted, to be compared with what another worker delivered. Sections, if not 0, says that the gradient is shared
// out in so many: the result says the digest of each, and its worker serves others who pull it.
type Lease struct {
	Header
	ID           uint64
	Step         uint64
	Pass         int
	Attempt      int
	Work         Work
	First, Count int
	Audit        bool
	Sections     int
}

// Reduce gives the sections [First, First+Count) of a step's gradient to a worker, who pulls them from the holders of
// all blocks, checks them, and adds them along the tree of package vector. It is a Lease whose Work is Sum, and is
// answered like one, without terms; the chunks of the result are those of the sections alone. Number counts the sums of
// this pass that were begun: a greater one ends those before.
type Reduce struct {
	Header
	ID           uint64
	Step         uint64
	Pass         int
	Attempt      int
	Number       int
	Sections     int // of the whole vector
	First, Count int
	Audit        bool
	Sources      []Source
}

// Source is a block of a sum: the shards [First, First+Count). Holder is the Name of the worker that keeps it as the
// result of the lease of that number. Digests are what it said of the sections that are to be summed: see Sections.
type Source struct {
	First, Count int
	Holder       string
	Lease        uint64
	Digests      string
}

// Result announces the partial sum of a leased block: its loss terms, and the length (in elements) and checksum of the
// gradient to be pulled. Digest, see DigestPartial, is set only in the answer to an audit. If the gradient is shared
// out, Digests are those of its sections, see Sections, in the answer to an audit as well, which has no Digest then. A
// non-empty Fault says why the block could not be computed. Took is how long it was computed, for people.
type Result struct {
	Header
	Lease        uint64
	Step         uint64
	Attempt      int
	Work         Work
	First, Count int
	Terms        []float32
	Length       int
	Checksum     uint32
	Digest       string
	Digests      string
	Fault        string
	Took         time.Duration
}

// Pull asks for the chunks [First, First+Count) of a lease's result. Workers ask each other, too, for what is shared
// out. Between workers the header's token is 0.
type Pull struct {
	Header
	Lease        uint64
	First, Count int
}

// Chunk is one chunk of a lease's result. CRC is the Checksum of Data; Index counts the chunks of the whole result.
type Chunk struct {
	Header
	Lease uint64
	Step  uint64
	Index int
	CRC   uint32
	Data  []byte // after decoding it aliases the message
}

// Progress is the state of one lease at a worker: how many of its shards are done.
type Progress struct {
	Lease uint64
	Done  int
}

// Heartbeat says that a worker is alive, which parameters it has (updates applied), and the leases that it has accepted
// and not finished.
//
// Processor is the processor time in milliseconds that the worker's process has used, Memory the bytes that it holds.
type Heartbeat struct {
	Header
	Step      uint64
	Running   []Progress
	Processor uint64
	Memory    uint64
}

// Bye hands back all leases of a worker that leaves.
type Bye struct{ Header }

// End tells workers that the run is over.
type End struct {
	Header
	Reason string
}

// Seek says what a worker of the pool is, see Hello, and which run it serves; empty if it needs one. Number counts what
// the worker's process has said: one that is not above all before was repeated, or is late.
type Seek struct {
	Header
	Build    string
	Slots    int
	Numerics []Numeric
	Serving  string
	Number   uint64
}

// Assign sends a worker of the pool to a run, away from the one that it serves. An empty To lets it rest. It answers
// the Seek of that Number; Order counts the answers. A worker obeys only what answers its newest Seek, in ascending
// order.
type Assign struct {
	Header
	To     string
	Number uint64
	Order  uint64
}

// Offer tells a worker the place of the memory that the coordinator shares with processes of its host, see package shm.
// A worker that does not know this message, or does not reach the place, does not answer. An empty Place ends what was
// shared.
type Offer struct {
	Header
	Place string
}

// Share answers an Offer. With On the worker has read what the coordinator wrote, and the coordinator what the worker
// wrote. Without it, vectors are to come as chunks from now on, for the reason that Why gives.
type Share struct {
	Header
	On  bool
	Why string
}

// ThetaAt says to a worker that shares memory that the parameters of a step and pass lie there, with the exponents of
// integers behind them: all values as Float32, whatever travels as chunks. They begin at At. Sum is the checksum of the
// vector. Turn is the number that stands before them, in TurnLength little-endian bytes, until others take their place.
type ThetaAt struct {
	Header
	Step uint64
	Pass int
	At   uint64
	Turn uint64
	Sum  uint32
}

// MaxShared is how many results of a worker lie in its shared memory at a time, each in a place for a whole gradient as
// it travels. What is pulled beyond comes as chunks.
const MaxShared = 16

// TurnLength is the number of bytes in the Turn before parameters in memory.
const TurnLength = 8

// ChunksAt answers a Pull of the coordinator in the place of the chunks [First, First+Count): they lie one behind the
// other in the worker's shared memory, from At on. Sum is their Combine.
type ChunksAt struct {
	Header
	Lease        uint64
	Step         uint64
	First, Count int
	At           uint64
	Sum          uint32
}
