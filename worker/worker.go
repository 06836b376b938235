package worker

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/quantize"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

var (
	// ErrConfig is returned by New for a configuration that cannot work.
	ErrConfig = errors.New("worker: invalid configuration")
	// ErrData is returned by Run when what the coordinator sends is, twice, not the data set that it has offered.
	ErrData = errors.New("worker: the data set is not what was offered")
	// ErrRefused is returned by Run when the coordinator turns the worker away.
	ErrRefused = errors.New("worker: refused by the coordinator")
)

// Config says for which run a worker works and how.
type Config struct {
	Run   string // name of the run
	ID    string // unique among the run's workers; empty: random
	Slots int    // shards computed at the same time; 0: 1
	Info  string // build id, for people
	// Token is the secret by which a coordinator knows the worker again: see wire.Header. 0: drawn at random.
	Token uint64
	// Numerics is the fingerprint of this process's arithmetic, in ascending order of the kernels' names. The coordinator
	// judges it; the worker only passes it on.
	Numerics []wire.Numeric
	// Build makes the program of a job with the run's data set, nil if it has none, which is not to be changed. It is
	// called once for each pair of job and data set that a coordinator hands out.
	Build func(job []byte, data []byte, slots int) (Program, error)
	// Local returns the data set with a hash (SHA-256, lower-case hexadecimal) if this process has it: it is used as it
	// is and not fetched. It returns nil otherwise, and may be nil itself. It should return quickly.
	Local func(hash string) []byte
}

const (
	// greeting is how often a worker that was not welcomed yet says Hello.
	greeting = time.Second
	// A coordinator is silent when nothing was heard of it for so many heartbeats, which is several times its
	// failure detection: much longer than a step of most runs. From then on the worker says Hello now and then, which is
	// answered by every coordinator that lives.
	silentAfter, helloAgain = 15, 5
	// A worker of the pool gives a coordinator up that is silent for twice that time, or does not welcome it.
	unwelcomeAfter = 10 * time.Second
)

// Worker serves one run.
type Worker struct {
	cfg      Config
	pooled   bool // it has somewhere else to go when its coordinator is silent
	bus      wire.Bus
	log      hclog.Logger
	subjects wire.Subjects
	mark     uint64 // of the token
	encoder  *wire.Encoder
	inbox    chan delivery
	closing  chan struct{} // closed when Run returns, so that handlers do not wait
	always   chan struct{} // closed

	turned    atomic.Int64 // when the goroutine of Run last looked at the time, in Unix nanoseconds
	term      uint64
	outdated  uint64 // the newest older term that was told of, plus 1
	welcomed  bool
	heartbeat time.Duration
	chunk     int              // bytes of a full chunk
	rounder   quantize.Rounder // without a grid: gradients are float32
	chunks    wire.Chunking    // of what is loaded: the parameters, and the exponents of integers behind them
	sums      wire.Chunking    // of the gradient of a block

	wanted   order // by the newest Welcome
	data     supply
	program  Program // nil until built
	served   Program // the program, or what rounds its gradients
	made     order   // of the program
	golden   string  // hash of the program's golden shard; empty: it failed
	building bool
	built    chan build

	theta  assembly
	loaded uint64 // step+1 of what the program has; 0: nothing
	pass   int    // of that step

	leased   bool     // a lease has come since the last reset: the coordinator has heard the Ready
	leases   []*lease // of the newest step that is known
	memory   *vectors
	tasks    chan task
	computed chan task
	running  int       // tasks in the slots' hands
	prefetch prefetch  // what the slots prepare when they have none
	sending  []chunkOf // asked for by the coordinator and not sent yet
	lastBeat time.Time
	stirred  time.Time // when the worker was last told something, or has announced something
	beats    int       // heartbeats since
	lastHi   time.Time
	repeated bool               // that Hello was said a second time soon after the first, which may have been lost
	heardAt  time.Time          // when the coordinator last said something; at first, when Run began
	silent   bool               // that it is silent was told
	unfit    map[wire.Kind]bool // kinds of which one could not be sent at all and that was told

	goroutines sync.WaitGroup // slots, and the building of a program
}

// delivery is a message, and whether it was for this worker alone.
type delivery struct {
	data   []byte
	direct bool
}

// Data returns the data set that the worker was last given, and its hash, for the Local of a worker that comes after
// it: nil if there is none. It must not be called while Run is running.
func (w *Worker) Data() (hash string, data []byte) {
	if !w.data.checked {
		return "", nil
	}
	return w.data.hash, w.data.bytes
}

// New prepares a worker.
func New(cfg Config, bus wire.Bus, log hclog.Logger) (*Worker, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	subjects, err := wire.SubjectsOf(cfg.Run)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	always := make(chan struct{})
	close(always)
	return &Worker{
		cfg: cfg, bus: bus, log: log.With("worker", cfg.ID), subjects: subjects, mark: wire.Mark(cfg.Token), encoder: wire.NewEncoder(),
		inbox: make(chan delivery, 256), closing: make(chan struct{}), built: make(chan build, 1),
		tasks: make(chan task, cfg.Slots), computed: make(chan task, cfg.Slots), unfit: make(map[wire.Kind]bool), always: always,
	}, nil
}

// complete checks a configuration and fills in what is left open.
func (c *Config) complete() error {
	c.Slots = max(c.Slots, 1)
	if c.Slots > wire.MaxLeases {
		return fmt.Errorf("%w: %d slots, at most %d", ErrConfig, c.Slots, wire.MaxLeases)
	}
	if c.Build == nil {
		return fmt.Errorf("%w: Build is not set", ErrConfig)
	}
	if c.ID == "" {
		var b [6]byte
		rand.Read(b[:])
		c.ID = "w" + hex.EncodeToString(b[:])
	}
	if err := wire.CheckName(c.ID); err != nil {
		return fmt.Errorf("%w: id: %w", ErrConfig, err)
	}
	if c.Token == 0 {
		c.Token = newToken()
	}
	return nil
}

// newToken draws a secret, which is never 0.
func newToken() uint64 {
	for {
		var b [8]byte
		rand.Read(b[:])
		if token := binary.LittleEndian.Uint64(b[:]); token != 0 {
			return token
		}
	}
}

// ID is the worker's name in the run.
func (w *Worker) ID() string { return w.cfg.ID }

// Run works until the run ends or ctx does, and returns nil in both cases; when ctx ends it hands its leases back at
// once. It returns ErrRefused if the coordinator does not want the worker, or the error of building or loading the
// program. Without a coordinator it waits. All its goroutines have ended when it returns.
func (w *Worker) Run(ctx context.Context) error {
	for slot := range w.cfg.Slots {
		w.goroutines.Go(func() { w.compute(slot) })
	}
	defer w.goroutines.Wait()
	defer w.abandon()
	defer close(w.closing)
	subscriptions := map[string]bool{w.subjects.Theta: false, w.subjects.All: false, w.subjects.Worker(w.cfg.ID): true}
	for subject, direct := range subscriptions {
		sub, err := w.bus.Subscribe(subject, func(data []byte) { w.enqueue(delivery{data, direct}) })
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", subject, err)
		}
		defer w.unsubscribe(sub)
	}
	w.heardAt = time.Now()
	w.turned.Store(w.heardAt.UnixNano())
	w.hello()
	ticker := time.NewTicker(greeting / 16)
	defer ticker.Stop()
	for {
		err := w.event(ctx, ticker)
		switch {
		case errors.Is(err, errEnd):
			return nil
		case err != nil:
			w.publish(w.subjects.Control, &wire.Bye{})
			return err
		}
	}
}

var (
	// errEnd ends Run in order.
	errEnd = errors.New("worker: end")
	// errSilent ends Run of a worker of the pool whose coordinator is not heard of any more.
	errSilent = errors.New("worker: the coordinator is silent")
)

// event waits for one thing to happen and reacts to it.
func (w *Worker) event(ctx context.Context, ticker *time.Ticker) error {
	select {
	case <-ctx.Done():
		w.publish(w.subjects.Control, &wire.Bye{})
		return errEnd
	case d := <-w.inbox:
		if err := w.receive(d, ticker); err != nil {
			return err
		}
	case t := <-w.computed:
		w.running--
		w.account(t.lease)
	case b := <-w.built:
		if err := w.finish(b); err != nil {
			return err
		}
	case <-ticker.C:
		if err := w.tick(); err != nil {
			return err
		}
	case <-w.toSend():
		w.sendChunk()
		select { // a heartbeat waits for one chunk at most
		case <-ticker.C:
			if err := w.tick(); err != nil {
				return err
			}
		default:
		}
	}
	return w.advance()
}

func (w *Worker) enqueue(d delivery) {
	select {
	case w.inbox <- d:
	case <-w.closing:
	}
}

func (w *Worker) unsubscribe(sub wire.Subscription) {
	if err := wire.Unsubscribe(sub, w.inbox); err != nil {
		w.log.Debug("unsubscribe", "error", err)
	}
}

// publish sends a message to the coordinator. One that cannot be sent now counts as lost, which the protocol provides
// for. One that can never be sent would be waited for in vain; the first of each kind is told.
func (w *Worker) publish(subject string, msg wire.Message) {
	*msg.Head() = wire.Header{Run: w.cfg.Run, From: w.cfg.ID, Term: w.term, Token: w.cfg.Token}
	data, err := w.encoder.Encode(msg)
	if err == nil {
		err = w.bus.Publish(subject, data)
	}
	never := errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrMalformed)
	switch {
	case never && !w.unfit[msg.Kind()]:
		w.unfit[msg.Kind()] = true
		w.log.Error("message cannot be sent", "subject", subject, "kind", msg.Kind(), "error", err)
	case err != nil:
		w.log.Debug("message lost", "subject", subject, "kind", msg.Kind(), "error", err)
	}
}

func (w *Worker) hello() {
	w.lastHi = time.Now()
	w.publish(w.subjects.Control, &wire.Hello{Build: w.cfg.Info, Slots: w.cfg.Slots, Numerics: w.cfg.Numerics})
}

// tick says Hello or sends a heartbeat when it is time, and asks for what went missing of data set and parameters.
func (w *Worker) tick() error {
	now := time.Now()
	w.turned.Store(now.UnixNano())
	if !w.welcomed {
		if w.pooled && now.Sub(w.heardAt) >= unwelcomeAfter {
			return errSilent
		}
		if since := now.Sub(w.lastHi); since >= greeting || !w.repeated && since >= greeting/16 {
			w.repeated = true
			w.hello()
		}
		return nil
	}
	if now.Sub(w.lastBeat) >= w.heartbeat-w.heartbeat/8 || w.beatsSoon(now) {
		w.beat(now)
	}
	if w.fetching() && now.Sub(w.data.movedAt) >= w.heartbeat/4 {
		w.fetch()
	}
	if ranges := w.theta.missingRanges(); ranges != nil && now.Sub(w.theta.movedAt) >= w.thetaPatience() {
		w.theta.asked(now)
		w.publish(w.subjects.Control, &wire.Need{Step: w.theta.step, Ranges: ranges})
	}
	return w.listen(now)
}

// listen looks how long the coordinator was not heard of. A worker of the pool leaves one that stays silent.
func (w *Worker) listen(now time.Time) error {
	quiet := now.Sub(w.heardAt)
	if quiet < silentAfter*w.heartbeat {
		return nil
	}
	if !w.silent {
		w.silent = true
		w.log.Warn("the coordinator is silent; trying on", "seconds", quiet.Seconds())
	}
	if w.pooled && quiet >= 2*silentAfter*w.heartbeat {
		return errSilent
	}
	if now.Sub(w.lastHi) >= helloAgain*w.heartbeat {
		w.hello()
	}
	return nil
}

// heard notes that the coordinator has said something.
func (w *Worker) heard() {
	w.heardAt = time.Now()
	if w.silent {
		w.silent = false
		w.log.Info("the coordinator is heard again")
	}
}

func (w *Worker) beat(now time.Time) {
	w.lastBeat = now
	w.beats++
	msg := &wire.Heartbeat{Step: max(w.loaded, 1) - 1}
	for _, l := range w.leases {
		if !l.finished() && len(msg.Running) < wire.MaxLeases {
			msg.Running = append(msg.Running, wire.Progress{Lease: l.ID, Done: int(l.steps.Load())})
		}
	}
	w.publish(w.subjects.Control, msg)
	if w.program != nil && !w.leased {
		w.sayReady() // the first was lost, or there is no work
	}
}
