package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/names"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

const (
	// seeking is how often an agent that serves no run says so.
	seeking = time.Second
	// A run that went wrong is not gone back to for pause, twice as long after each further time, and longestPause at most.
	// It counts as the first time again after a run went well, or went on for longestPause.
	pause        = time.Second
	longestPause = 30 * time.Second
	// A run that has ended is not gone back to for settling: its host may not have noticed yet.
	settling = 2 * time.Second
	// An agent that waits says for what after waitingAfter, and then every waitingEvery.
	waitingAfter = 5 * time.Second
	waitingEvery = 30 * time.Second
	// hostSilent is how long no answer may come until it is said that nobody answers.
	hostSilent = 5 * time.Second
)

// AgentConfig says how an Agent works. ID, Slots, Info, Token, Numerics and Build are those of all its workers, see Config.
type AgentConfig struct {
	ID       string
	Slots    int
	Info     string
	Token    uint64
	Numerics []wire.Numeric
	Build    func(job []byte, data []byte, slots int) (Program, error)
	// Trouble says why nothing comes through the bus, for people; empty if nothing is known. It may be nil.
	Trouble func() string
	// Alive is called about once a second as long as the agent does, and the worker of its run. It may be nil.
	Alive func()
}

// Agent is a worker of the pool: it seeks a run, serves it, and comes back when that run has ended, or goes where it is
// sent. It is the same worker in all runs. Data set and program stay for a run that needs the same again.
//
// One goroutine owns an Agent; the worker of the run that it serves has its own.
type Agent struct {
	cfg     Config // of the workers, but for the run
	trouble func() string
	alive   func()
	bus     wire.Bus
	plain   hclog.Logger // of the workers
	log     hclog.Logger
	encoder *wire.Encoder
	inbox   chan []byte
	closing chan struct{} // closed when Run returns, so that handlers do not wait
	left    chan struct{} // closed when all leases are handed back for good

	worker  *Worker // of the run that is served; nil: none
	stop    context.CancelFunc
	ended   chan error
	began   time.Time
	next    string // run to go to from here; empty: none
	kept    stock  // of the last worker
	avoided string // run that is not gone back to
	until   time.Time
	pauses  int       // times in a row that a run went wrong
	resumes time.Time // when it seeks again after that

	waitsFrom, toldAt, answeredAt time.Time
}

// NewAgent prepares an agent.
func NewAgent(cfg AgentConfig, bus wire.Bus, log hclog.Logger) (*Agent, error) {
	c := Config{
		ID: cfg.ID, Slots: cfg.Slots, Info: cfg.Info, Token: cfg.Token, Numerics: cfg.Numerics, Build: cfg.Build,
	}
	if err := c.complete(); err != nil {
		return nil, err
	}
	if cfg.Trouble == nil {
		cfg.Trouble = func() string { return "" }
	}
	if cfg.Alive == nil {
		cfg.Alive = func() {}
	}
	return &Agent{
		cfg: c, trouble: cfg.Trouble, alive: cfg.Alive, bus: bus, plain: log, log: log.With("worker", c.ID), encoder: wire.NewEncoder(),
		inbox: make(chan []byte, 16), closing: make(chan struct{}), left: make(chan struct{}), ended: make(chan error, 1),
	}, nil
}

// ID is the agent's name in the pool and in its runs.
func (a *Agent) ID() string { return a.cfg.ID }

// Left is closed when ctx has ended and the leases are handed back. Run returns later, when the shards under way are
// computed, for nobody.
func (a *Agent) Left() <-chan struct{} { return a.left }

// Run works until ctx ends and returns nil then; it is called once. It returns ErrRefused if the host of the runs does not
// want the worker. Without a broker, a host or a run it waits. All its goroutines have ended when it returns.
func (a *Agent) Run(ctx context.Context) error {
	defer close(a.closing)
	sub, err := a.bus.Subscribe(wire.AssignSubject(a.cfg.ID), a.enqueue)
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", wire.AssignSubject(a.cfg.ID), err)
	}
	defer a.unsubscribe(sub)
	ticker := time.NewTicker(seeking)
	defer ticker.Stop()
	a.waitsFrom = time.Now()
	a.seek()
	for {
		select {
		case <-ctx.Done():
			a.leave(func() { close(a.left) })
			return nil
		case data := <-a.inbox:
			if err := a.receive(data); err != nil {
				a.leave(func() {})
				return err
			}
		case err := <-a.ended:
			a.back(err)
		case <-ticker.C:
			a.tick()
		}
	}
}

// leave ends the worker of the present run, and calls left as soon as its leases are handed back.
func (a *Agent) leave(left func()) {
	if a.worker == nil {
		left()
		return
	}
	a.stop()
	<-a.worker.closing
	left()
	<-a.ended
}

func (a *Agent) enqueue(data []byte) {
	select {
	case a.inbox <- data:
	case <-a.closing:
	}
}

func (a *Agent) unsubscribe(sub wire.Subscription) {
	if err := wire.Unsubscribe(sub, a.inbox); err != nil {
		a.log.Debug("unsubscribe", "error", err)
	}
}

// seek tells the host that this worker has no run.
func (a *Agent) seek() {
	data, err := a.encoder.Encode(&wire.Seek{
		Header: wire.Header{Run: wire.Pool, From: a.cfg.ID, Token: a.cfg.Token},
		Build:  a.cfg.Info, Slots: a.cfg.Slots, Numerics: a.cfg.Numerics,
	})
	if err == nil {
		err = a.bus.Publish(wire.SeekSubject, data)
	}
	if err != nil {
		a.log.Debug("message lost", "subject", wire.SeekSubject, "error", err)
	}
}

// receive handles a message of the host.
func (a *Agent) receive(data []byte) error {
	msg, err := wire.Decode(data)
	if err != nil {
		a.log.Debug("message dropped", "error", err)
		return nil
	}
	if h := msg.Head(); h.Run != wire.Pool || h.From != "" {
		return nil
	}
	switch msg := msg.(type) {
	case *wire.Refusal:
		return fmt.Errorf("%w: %s; %s", ErrRefused, msg.Reason, msg.Remedy)
	case *wire.Assign:
		a.answeredAt = time.Now()
		a.assign(msg.To)
	}
	return nil
}

// assign goes to a run. An empty one is the answer to a Seek that there is none: it ends nothing.
func (a *Agent) assign(run string) {
	switch {
	case names.CheckRun(run) != nil:
	case a.worker == nil && run == a.avoided && time.Now().Before(a.until):
	case a.worker == nil:
		a.serve(run)
	case run == a.worker.cfg.Run:
		a.next = ""
	default:
		a.next = run
		a.stop()
	}
}

// serve starts a worker for a run.
func (a *Agent) serve(run string) {
	cfg := a.cfg
	cfg.Run = run
	w, err := New(cfg, a.bus, a.plain)
	if err != nil {
		a.log.Error("the run cannot be served", "run", run, "error", err)
		return
	}
	w.pooled = true
	w.inherit(a.kept)
	a.kept = stock{}
	var ctx context.Context
	ctx, a.stop = context.WithCancel(context.Background())
	a.worker, a.began = w, time.Now()
	a.log.Info("serving run", "run", run)
	go func() { a.ended <- w.Run(ctx) }()
}

// back comes back from a run.
func (a *Agent) back(err error) {
	now, run, ordered := time.Now(), a.worker.cfg.Run, a.next != ""
	a.stop()
	a.kept, a.worker = a.worker.leave(), nil
	if err == nil || errors.Is(err, errSilent) || now.Sub(a.began) >= longestPause {
		a.pauses = 0
	}
	switch {
	case errors.Is(err, errSilent):
		a.log.Warn("run left: its coordinator is silent", "run", run)
	case err != nil:
		a.resumes = now.Add(min(pause<<min(a.pauses, 10), longestPause))
		a.avoided, a.until = run, a.resumes
		a.pauses++
		a.kept = stock{} // it may be what is wrong
		a.log.Error("run left", "run", run, "error", err, "pause", a.resumes.Sub(now))
	case ordered:
		a.log.Info("run left for another", "run", run, "next", a.next)
	default: // which the worker has told
		a.avoided, a.until = run, now.Add(settling)
	}
	a.waitsFrom, a.toldAt = now, time.Time{}
	if ordered {
		next := a.next
		a.next = ""
		a.assign(next)
	}
	if a.worker == nil && now.After(a.resumes) {
		a.seek()
	}
}

// tick seeks while there is no run, and says now and then what it waits for.
func (a *Agent) tick() {
	now := time.Now()
	if a.worker == nil || a.worker.turns(now) {
		a.alive()
	}
	if a.worker != nil || now.Before(a.resumes) {
		return
	}
	a.seek()
	if now.Sub(a.waitsFrom) >= waitingAfter && now.Sub(a.toldAt) >= waitingEvery {
		a.toldAt = now
		a.log.Info("waiting", "for", a.waitsFor(now), "seconds", now.Sub(a.waitsFrom).Seconds())
	}
}

// waitsFor says what is lacking.
func (a *Agent) waitsFor(now time.Time) string {
	if trouble := a.trouble(); trouble != "" {
		return trouble
	}
	if now.Sub(a.answeredAt) >= hostSilent {
		return "a coordinator: nobody answers on this broker"
	}
	return "work: the coordinator has no run for this worker"
}
