package worker

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

var (
	// ErrConfig is returned by New for an invalid configuration.
	ErrConfig = errors.New("worker: invalid configuration")
	// ErrData is returned by Run when the coordinator has sent, twice, other data than the data set that it offered.
	ErrData = errors.New("worker: the data set is not what was offered")
	// ErrRefused is returned by Run when the coordinator refuses the worker.
	ErrRefused = errors.New("worker: refused by the coordinator")
)

// Config configures a worker for one run.
type Config struct {
	Run   string // name of the run
	ID    string // unique among the run's workers; empty: random
	Slots int    // shards computed at the same time; 0: 1
	Info  string // build id, for people
	// Token is the secret by which a coordinator recognises the worker; see wire.Header. 0: drawn at random.
	Token uint64
	// Numerics is the fingerprint of this process's arithmetic, sorted by the kernels' names. The coordinator judges
	// it; the worker only sends it.
	Numerics []wire.Numeric
	// Build builds the program of a job with the run's data set, which it must not change; nil if the run has none. It
	// is called once for each pair of job and data set that a coordinator sends.
	Build func(job []byte, data []byte, slots int) (Program, error)
	// DataSet returns the data set with a hash (SHA-256, lower-case hexadecimal) if this process has it, so that the
	// worker need not fetch it; otherwise nil. It should return quickly. DataSet may be nil.
	DataSet func(hash string) []byte
	// Memory is shared with the coordinator, if it is on this host, for parameters and gradients; nil: all go over the
	// bus.
	Memory shm.Host
}

const (
	// greeting is the time between two Hello messages of a worker that is not welcomed yet.
	greeting = time.Second
	// A coordinator is silent after silentAfter heartbeats without a message from it. That is several times its failure
	// detection, and much longer than a step of most runs. From then on the worker sends a Hello every helloAgain
	// heartbeats; every living coordinator answers it.
	silentAfter, helloAgain = 15, 5
	// A worker of the pool leaves a coordinator that is silent for twice that time, or does not welcome it for
	// unwelcomeAfter.
	unwelcomeAfter = 10 * time.Second
)

// delivery is a message, and whether it was sent to this worker alone. Which subject it came on decides that, and
// nothing in it.
type delivery struct {
	data   []byte
	direct bool
	peer   string // key of the worker that sent it; empty: the coordinator did
}

// Data returns the last data set of the worker and its hash, for the DataSet of its successor; nil if there is none. It
// must not be called while Run is running.
func (w *Worker) Data() (hash string, data []byte) {
	if !w.data.checked {
		return "", nil
	}
	return w.data.hash, w.data.bytes
}

// New prepares a worker. It returns ErrConfig for an invalid configuration, and starts no goroutine.
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
		cfg: cfg, bus: bus, log: log.With("worker", cfg.ID), subjects: subjects.By(bus.Key()), mark: wire.Mark(cfg.Token),
		encoder: wire.NewEncoder(), gate: wire.NewPeerGate(),
		inbox: make(chan delivery, 256), closing: make(chan struct{}), always: always,
		construction: construction{built: make(chan build, 1)},
		work:         work{tasks: make(chan task, cfg.Slots), computed: make(chan task, cfg.Slots)},
		peers:        peers{gave: make(map[string]int)},
		unfit:        make(map[wire.Kind]bool),
	}, nil
}

// complete checks a configuration and fills in the defaults.
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

// Run works until the run ends or ctx ends; in both cases it returns nil. When ctx ends, it hands its leases back at
// once. It returns ErrRefused if the coordinator refuses the worker, or the error of building or loading the program.
// If there is no coordinator, it waits. All its goroutines have ended when it returns.
func (w *Worker) Run(ctx context.Context) error {
	for slot := range w.cfg.Slots {
		w.goroutines.Go(func() { w.compute(slot) })
	}
	// These run in reverse order: closing is closed, so that slots let go; what is left is given up; memory is
	// closed; and all goroutines have ended.
	defer w.goroutines.Wait()
	defer w.closeLink()
	defer w.abandon()
	defer close(w.closing)
	subscriptions := map[string]bool{w.subjects.All: false, w.subjects.Worker(w.name()): true}
	for subject, direct := range subscriptions {
		sub, err := w.bus.Subscribe(subject, func(data []byte) { w.enqueue(delivery{data: data, direct: direct}) })
		if err != nil {
			return fmt.Errorf("subscribe to %s: %w", subject, err)
		}
		defer w.unsubscribe(sub)
	}
	if err := w.hearTheta(); err != nil {
		return err
	}
	defer w.deafen()
	defer func() {
		if w.met != nil {
			w.unsubscribe(w.met)
		}
	}()
	// Everything is heard by now, so no answer to the first Hello is missed.
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
	// errEnd makes Run return nil.
	errEnd = errors.New("worker: end")
	// errSilent ends Run of a worker of the pool whose coordinator is silent.
	errSilent = errors.New("worker: the coordinator is silent")
)

// event waits for one event and reacts to it. Chunks are sent only when nothing else waits. What may follow from the
// event, new parameters or work for slots, follows at once.
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
	case j := <-w.sharing.joined:
		w.takeJoined(j)
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

// enqueue passes a message to the goroutine of Run, for which it waits. It runs on a goroutine of the bus.
func (w *Worker) enqueue(d delivery) {
	select {
	case w.inbox <- d:
	case <-w.closing:
	}
}

// unsubscribe ends a subscription of Run; what waits in the inbox is lost.
func (w *Worker) unsubscribe(sub wire.Subscription) {
	if err := wire.Unsubscribe(sub, w.inbox); err != nil {
		w.log.Debug("unsubscribe", "error", err)
	}
}

// publish sends a message to the coordinator. It bears the worker's token, which the coordinator alone may hear.
func (w *Worker) publish(subject string, msg wire.Message) {
	w.send(subject, wire.Header{Run: w.cfg.Run, From: w.cfg.ID, Term: w.term, Token: w.cfg.Token}, msg)
}

// send sends a message with a header. A message that cannot be sent now counts as lost, which the protocol can
// repair. A message that can never be sent would be waited for without end, so the first of each kind is logged. It
// writes the header into msg.
func (w *Worker) send(subject string, h wire.Header, msg wire.Message) {
	*msg.Head() = h
	data, err := w.encoder.Encode(msg)
	if err == nil {
		err = w.bus.Publish(subject, data)
	}
	// To try again helps against everything else.
	never := errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrMalformed)
	switch {
	case never && !w.unfit[wire.TypeOf(msg)]:
		w.unfit[wire.TypeOf(msg)] = true
		w.log.Error("message cannot be sent", "subject", subject, "kind", wire.TypeOf(msg), "error", err)
	case err != nil:
		w.log.Debug("message lost", "subject", subject, "kind", wire.TypeOf(msg), "error", err)
	}
}

// hello offers the worker to the run. It leads to a Welcome, or to a Refusal.
func (w *Worker) hello() {
	w.lastHi = time.Now()
	w.publish(w.subjects.Control, &wire.Hello{Build: w.cfg.Info, Slots: w.cfg.Slots, Numerics: w.cfg.Numerics})
}

// tick sends a Hello or a heartbeat when it is due, and asks for missing parts of data set and parameters. It is
// called about fifty times in a heartbeat, and every 62 ms before the Welcome. errSilent: a worker of the pool has
// waited long enough.
func (w *Worker) tick() error {
	now := time.Now()
	w.turned.Store(now.UnixNano())
	if !w.welcomed {
		if w.pooled && now.Sub(w.heardAt) >= unwelcomeAfter {
			return errSilent
		}
		// The first may have been lost, or nobody may be there: it is repeated soon once, and then every second.
		if since := now.Sub(w.lastHi); since >= greeting || !w.repeated && since >= greeting/16 {
			w.repeated = true
			w.hello()
		}
		return nil
	}
	// A little before it is due, so that it is not late.
	if now.Sub(w.lastBeat) >= w.heartbeat-w.heartbeat/8 || w.beatsSoon(now) {
		w.beat(now)
	}
	// Each piece is followed by a Fetch, so silence may mean that one of the two was lost.
	if w.fetching() && now.Sub(w.data.movedAt) >= w.heartbeat/4 {
		w.fetch()
	}
	// Parameters that were lost are asked for here, at the pace of remind.go.
	if ranges := w.lacking(now); ranges != nil {
		w.theta.asked(now)
		w.publish(w.subjects.Control, &wire.Need{Step: w.theta.step, Ranges: ranges})
	}
	w.askPeersAgain(now)
	return w.listen(now)
}

// listen checks how long the coordinator has sent no message. A worker of the pool leaves a silent coordinator. Any
// other one goes on, and says Hello now and then.
func (w *Worker) listen(now time.Time) error {
	quiet := now.Sub(w.heardAt)
	if quiet < silentAfter*w.heartbeat {
		return nil
	}
	if !w.silent {
		w.silent = true
		w.log.Warn("the coordinator is silent; trying again", "seconds", quiet.Seconds())
	}
	if w.pooled && quiet >= 2*silentAfter*w.heartbeat {
		return errSilent
	}
	if now.Sub(w.lastHi) >= helloAgain*w.heartbeat {
		w.hello()
	}
	return nil
}

// heard records that the coordinator has sent a message.
func (w *Worker) heard() {
	w.heardAt = time.Now()
	if w.silent {
		w.silent = false
		w.log.Info("the coordinator answers again")
	}
}

// beat sends a heartbeat: the newest parameters that are loaded, and the leases that are not finished. The
// coordinator sends again what is missing in the list.
func (w *Worker) beat(now time.Time) {
	w.lastBeat = now
	w.beats++
	msg := &wire.Heartbeat{
		Step: max(w.loaded, 1) - 1, Processor: uint64(ProcessorTime().Milliseconds()), Memory: heldMemory(),
	}
	for _, l := range w.leases {
		if !l.finished() && len(msg.Running) < wire.MaxLeases {
			msg.Running = append(msg.Running, wire.Progress{Lease: l.ID, Done: int(l.steps.Load())})
		}
	}
	w.publish(w.subjects.Control, msg)
	if w.program != nil && !w.leased {
		w.sayReady() // the first one was lost, or there is no work
	}
}
