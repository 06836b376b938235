package coordinator

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

// Coordinator runs one run: the machine, with a bus, a clock, a disk and an observer. The goroutine of Run owns all
// of it, but for receiver, gate, shared, inbox, asked, closing, figures and rejections, which others may use.
type Coordinator struct {
	machine  *machine
	bus      wire.Bus
	sender   *exchange.Sender
	subjects wire.Subjects
	observer Observer
	log      hclog.Logger

	receiver *exchange.Receiver
	inbox    chan incoming
	asked    chan struct{} // requests for a checkpoint
	closing  chan struct{} // closed when Run returns, so that handlers do not wait
	received int64         // bytes of messages since the last step
	start    time.Time     // of Run: the zero of all times that the machine sees
	lastStep time.Time     // when the last step was reported
	lastTick time.Duration // when the last tick was

	reminded time.Duration // when the machine last looked for what was lost
	listens  time.Duration // since when messages are read as they come

	initial    []float32 // parameters before the first update
	history    history
	saver      saver
	referee    *trust.Referee
	rejections rejections
	gate       *wire.Gate     // nil: all is let in
	shared     shm.Server     // nil: no memory is shared
	unlaid     bool           // parameters could not be written there, and that is logged
	present    map[string]int // members by key, at the last tick, and who said Hello since
	expelled   map[string]int // workers by key that were cut off since expelledAt
	expelledAt time.Duration
	figures    published
	waitLogged float64 // seconds after which a wait was last logged

	back     *rollbackCommand // to be done when the other commands are
	finished bool
	ended    bool // Ending was called
	halted   bool // at once: what the machine still wants is not done
	err      error
}

// inboxLength is how many messages may wait for the coordinator's goroutine before the bus holds them back.
const inboxLength = 256

// New prepares a run from its initial parameters, which it copies. obs may be nil. It returns ErrConfig for a
// configuration that cannot be run, or that does not fit the messages of the bus. It starts no goroutine.
func New(cfg Config, theta []float32, bus wire.Bus, obs Observer, log hclog.Logger) (*Coordinator, error) {
	if err := cfg.validate(len(theta)); err != nil {
		return nil, err
	}
	subjects, err := wire.SubjectsOf(cfg.Run)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	// A chunk, and the job in the Welcome, each have to fit a message of the bus.
	chunk := min(cfg.Chunk, bus.MaxPayload()-headroom, wire.MaxChunk)
	if chunk < 64 {
		return nil, fmt.Errorf("%w: the broker's payload limit of %d bytes leaves no room for chunks", ErrConfig,
			bus.MaxPayload())
	}
	job := len(cfg.Job) + headroom + cfg.tensorBytes()
	for _, name := range cfg.TermNames {
		job += len(name)
	}
	if job > bus.MaxPayload() {
		return nil, fmt.Errorf("%w: the job of %d bytes does not fit the broker's payload limit of %d bytes, %d of which "+
			"are needed beside it",
			ErrConfig, len(cfg.Job), bus.MaxPayload(), job-len(cfg.Job))
	}
	if cfg.Disk == nil {
		cfg.Disk = disk.System()
	}
	m := newMachine(cfg, theta, chunk)
	// No worker can know which blocks are audited, not even who has seen the run before.
	rand.Read(m.auditing.Key[:])
	if obs == nil {
		obs = Silent{}
	}
	store := &checkpoint.Store{
		Dir: cfg.Dir, Layout: cfg.Layout, Disk: cfg.Disk, Identity: cfg.identity(),
		Data: m.transfer.data.hash,
	}
	return &Coordinator{
		machine: m, bus: bus, subjects: subjects,
		sender: exchange.NewSender(bus, subjects, m.run.chunks.Count(), log), observer: obs, log: log,
		receiver: exchange.NewReceiver(), inbox: make(chan incoming, inboxLength), asked: make(chan struct{}, 1),
		closing: make(chan struct{}),
		initial: slices.Clone(theta), history: history{expected: new(Log), log: log}, saver: newSaver(store),
		referee: trust.NewReferee(cfg.Referee), gate: cfg.Gate, present: make(map[string]int),
		expelled: make(map[string]int),
	}, nil
}

// Resume continues from a checkpoint. It is called before Run. It returns ErrMismatch, and changes nothing, for a
// checkpoint that does not belong to this run. It copies what it takes over.
func (c *Coordinator) Resume(cp *Checkpoint) error {
	m := c.machine
	switch {
	case cp.Run != m.cfg.Run || cp.Seed != m.cfg.Seed:
		return fmt.Errorf("%w: it is of run %s with seed %d, this is %s with %d", ErrMismatch, cp.Run, cp.Seed, m.cfg.Run,
			m.cfg.Seed)
	case len(cp.Theta) != len(m.run.opt.theta):
		return fmt.Errorf("%w: it has %d parameters, this run %d", ErrMismatch, len(cp.Theta), len(m.run.opt.theta))
	case len(cp.Levels) != m.run.integers.Peaks():
		return fmt.Errorf("%w: it has scales of %d blocks of gradients, this run of %d", ErrMismatch, len(cp.Levels),
			m.run.integers.Peaks())
	case cp.Step > m.cfg.Steps:
		return fmt.Errorf("%w: it is at step %d of %d", ErrMismatch, cp.Step, m.cfg.Steps)
	// A checkpoint of a release that wrote no identity is believed.
	case cp.Identity != "" && cp.Identity != m.cfg.identity():
		return fmt.Errorf("%w: a configuration that gives other parameters (digest %.12s of what decides them, this run "+
			"%.12s)",
			ErrMismatch, cp.Identity, m.cfg.identity())
	case cp.Identity != "" && cp.Data != m.transfer.data.hash:
		return fmt.Errorf("%w: it was trained on other data (hash %.12q, this run %.12q)", ErrMismatch, cp.Data,
			m.transfer.data.hash)
	}
	if err := m.run.opt.fits(cp); err != nil {
		return fmt.Errorf("%w: %w", ErrMismatch, err)
	}
	if err := c.saver.store.Resume(cp.Step, cp.BestStep); err != nil {
		c.log.Warn("best.json is out of date until the next checkpoint", "error", err)
	}
	m.resume(cp)
	return nil
}

// Parameters returns a copy of the present parameters and the number of updates they had. While Run is running, only
// the observer may call it.
func (c *Coordinator) Parameters() ([]float32, uint64) {
	return append([]float32(nil), c.machine.run.opt.theta...), c.machine.run.opt.step
}

// Levels returns a copy of the levels of gradients as in Checkpoint. It is called as Parameters is.
func (c *Coordinator) Levels() []float32 { return slices.Clone(c.machine.run.integers.Levels()) }

// Rejections returns how many messages were refused, by sender and reason, in the order of their first appearance. It
// may be called at any time.
func (c *Coordinator) Rejections() []Rejection { return c.rejections.all() }

// Run leads the run until its last step and returns nil. When ctx ends it finishes the step under way, if there are
// workers and it is no round of local steps, writes a checkpoint, sends the workers the end and returns ErrInterrupted.
// A failed block ends it with ErrDiverged, a step that differs from the log with ErrReplay. A disk that takes nothing
// does not end it: what could not be written is tried again until ctx ends, and only then the error is returned. All
// its goroutines have ended when it returns.
func (c *Coordinator) Run(ctx context.Context) error {
	defer close(c.closing)
	// The term is raised before anything is heard or said.
	if err := c.takeUp(ctx); err != nil {
		return err
	}
	defer c.closeLog()
	defer c.gate.Delivering(c.machine.cfg.Run, nil)
	c.openMemory()
	defer c.closeMemory()
	// Messages are heard before the first Introduce goes out, so no answer is missed.
	control, err := c.bus.Hear(c.subjects.Control, c.enqueue)
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", c.subjects.Control, err)
	}
	defer c.unsubscribe(control)
	data, err := c.lent(c.subjects.Data, c.takeIn)
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", c.subjects.Data, err)
	}
	defer c.unsubscribe(data)
	c.start = time.Now()
	c.lastStep = c.start
	c.log.Info("run opens", "step", c.machine.run.opt.step, "steps", c.machine.cfg.Steps,
		"parameters", len(c.machine.run.opt.theta), "term", c.machine.term)
	defer c.referee.Stop()
	c.machine.start(0)
	c.execute()
	// The tick looks for what takes as long as the failure detection, the reminder for what was lost: see remind.go.
	ticker := time.NewTicker(c.machine.cfg.FailureDetection / 20)
	defer ticker.Stop()
	pause := max(c.machine.timing.prompt()/2, time.Millisecond)
	reminder := time.NewTicker(pause)
	defer reminder.Stop()
	interrupted := ctx.Done()
	// Each event is followed by what the machine wants done because of it.
	for !c.finished {
		select {
		case in := <-c.inbox:
			c.receive(in)
		case <-ticker.C:
			c.tick()
		case <-reminder.C:
			c.remind(pause)
		case s := <-c.saver.done:
			c.saved(s)
		case <-c.saver.retry.C:
			c.saver.next()
		case <-c.history.troubled():
			c.reportLog()
		case v := <-c.referee.Done():
			c.judged(v)
		case <-c.asked:
			c.machine.run.milestones.asked = true
		case <-interrupted:
			interrupted = nil
			c.log.Info("interrupted: "+c.machine.run.underWay(), "step", c.machine.run.opt.step)
			c.machine.stop()
		}
		c.execute()
		// After it went back, the machine may have to go back further.
		for c.back != nil && !c.finished {
			c.goBack(ctx)
		}
	}
	c.saveLast(ctx)
	return c.err
}

// Checkpoint asks for a checkpoint of the parameters after the step under way. It may be called at any time, and does
// not wait. It changes no bit of the run.
func (c *Coordinator) Checkpoint() {
	select {
	case c.asked <- struct{}{}:
	default: // one is asked for already
	}
}

// now is the time since Run began, which the clock of the machine shows.
func (c *Coordinator) now() time.Duration { return time.Since(c.start) }

// tick gives the machine the time. Messages in the inbox come first: a worker whose heartbeat was not read yet is not
// silent. After a long delay, as by an observer, no worker is given up before the next tick: more messages may wait at
// the bus.
func (c *Coordinator) tick() {
	for range len(c.inbox) {
		if c.receive(<-c.inbox); c.machine.life.state == finished {
			return
		}
		c.execute()
	}
	now := c.now()
	if now-c.lastTick <= c.machine.cfg.FailureDetection/2 {
		c.machine.dismiss(now)
	}
	c.lastTick = now
	c.inspect(now)
	c.machine.tick(now)
}

// remind lets the machine look for what was lost. What waits in the inbox may be what is missing, and so may what came
// while this goroutine was busy: the time in which something is missed begins when all of it was read.
func (c *Coordinator) remind(pause time.Duration) {
	now := c.now()
	if len(c.inbox) > 0 || now-c.reminded > 2*pause {
		c.listens = now
	}
	c.reminded = now
	if len(c.inbox) == 0 {
		c.machine.remind(now, c.listens)
	}
}

// unsubscribe ends a subscription of Run. What waits in the inbox is lost: the run is over.
func (c *Coordinator) unsubscribe(sub wire.Subscription) {
	if err := wire.Unsubscribe(sub, c.inbox); err != nil {
		c.log.Debug("unsubscribe", "error", err)
	}
}

// refuseVersion answers a Hello of another protocol version. Nothing of it but what is the same in all versions is
// looked at.
func (c *Coordinator) refuseVersion(key string, data []byte) {
	p, err := wire.Peek(data)
	if err != nil || p.Kind != wire.KindHello || p.Run != c.machine.cfg.Run || wire.CheckName(p.From) != nil {
		return
	}
	c.machine.members.turnAwayStranger(wire.Name(p.From, key), p.Token, fmt.Sprintf("the worker speaks protocol "+
		"version %d, the coordinator %d", p.Version, wire.Version))
}
