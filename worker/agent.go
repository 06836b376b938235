package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

const (
	// seeking is the time between two Seek messages of an agent without a run.
	seeking = time.Second
	// serving is the time between two Seek messages of an agent that serves a run, from which a host that was started
	// anew learns of it.
	serving = 10 * time.Second
	// After a refusal by the host, an agent that has worked before seeks again after hostPause, then after twice as
	// long each further time, up to longestPause.
	hostPause = 2 * time.Second
	// After an error in a run, the agent avoids that run for the time pause, then for twice as long after each further
	// error, up to longestPause. The time begins with pause again after a run without error, or one that lasted for
	// longestPause.
	pause        = time.Second
	longestPause = 30 * time.Second
	// An agent that waits logs the reason after waitingAfter, and then every waitingEvery.
	waitingAfter = 5 * time.Second
	waitingEvery = 30 * time.Second
	// hostSilent is the time without an answer after which the reason is that nobody answers.
	hostSilent = 5 * time.Second
)

// AgentConfig configures an Agent. ID, Slots, Info, Token, Numerics and Build are those of all its workers; see Config.
type AgentConfig struct {
	ID       string
	Slots    int
	Info     string
	Token    uint64
	Numerics []wire.Numeric
	Build    func(job []byte, data []byte, slots int) (Program, error)
	// Trouble returns why the bus brings no messages, for people; empty if no reason is known. Trouble may be nil.
	Trouble func() string
	// Alive is called about once a second as long as the agent does, and the worker of its run. It may be nil.
	Alive func()
	// Memory is that of Config.
	Memory shm.Host
}

// Agent is a worker of the pool. It obeys the host only in what answers its newest Seek and bears the mark of its
// token, which nobody can know who has not heard that Seek. It seeks a run, serves it, and seeks again when the run has
// ended; or it leaves for the run that an Assign names. It is the same worker in all runs. It keeps data set and
// program for a run that needs the same ones.
//
// One goroutine owns an Agent; another one owns the worker of the run that it serves.
type Agent struct {
	cfg     Config // of the workers, except the run
	trouble func() string
	alive   func()
	bus     wire.Bus
	plain   hclog.Logger // for the workers
	log     hclog.Logger
	mark    uint64 // of the token
	number  uint64 // of the newest Seek
	order   uint64 // of the newest answer to it
	encoder *wire.Encoder
	inbox   chan []byte   // messages of the host
	closing chan struct{} // closed when Run returns, so that handlers do not block
	left    chan struct{} // closed when all leases are handed back and no new ones will come

	worker  *Worker            // of the current run; nil: none
	stop    context.CancelFunc // of the worker; nil before the first
	ended   chan error         // what Run of the worker returned
	began   time.Time          // when the worker was started
	next    string             // run to serve after the current one; empty: none
	kept    cache              // data set and program of the last worker
	avoided string             // run that is avoided
	until   time.Time
	pauses  int       // errors in runs in a row
	refused int       // refusals by the host in a row
	resumes time.Time // time of the next Seek after an error or a refusal
	worked  bool      // a coordinator has used it before: it is sound, and a refusal need not be for ever

	waitsFrom, loggedAt, answeredAt, soughtAt time.Time
}

// NewAgent prepares an agent. It returns ErrConfig for an invalid configuration, and starts no goroutine.
func NewAgent(cfg AgentConfig, bus wire.Bus, log hclog.Logger) (*Agent, error) {
	c := Config{
		ID: cfg.ID, Slots: cfg.Slots, Info: cfg.Info, Token: cfg.Token, Numerics: cfg.Numerics, Build: cfg.Build,
		Memory: cfg.Memory,
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
		cfg: c, trouble: cfg.Trouble, alive: cfg.Alive, bus: bus, plain: log, log: log.With("worker", c.ID),
		mark: wire.Mark(c.Token), encoder: wire.NewEncoder(),
		inbox: make(chan []byte, 16), closing: make(chan struct{}), left: make(chan struct{}), ended: make(chan error, 1),
	}, nil
}

// Left is closed when ctx has ended and the leases are handed back. Run returns later, after the shards that are being
// computed; nobody needs their results.
func (a *Agent) Left() <-chan struct{} { return a.left }

// Run works until ctx ends and then returns nil. It must be called only once. It returns ErrRefused if the host refuses
// the worker before it has worked in a run; later, a refusal is a pause. If there is no broker, host or run, it waits.
// All its goroutines have ended when it returns.
func (a *Agent) Run(ctx context.Context) error {
	defer close(a.closing)
	subject := wire.AssignSubject(wire.Name(a.cfg.ID, a.bus.Key()))
	sub, err := a.bus.Subscribe(subject, a.enqueue)
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	defer a.unsubscribe(sub)
	// The subscription stands before the first Seek, so that its answer is heard.
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

// leave ends the worker of the current run. It calls left as soon as the leases are handed back. It returns when the
// worker has ended.
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

// enqueue passes a message to the goroutine of Run. It runs on a goroutine of the bus.
func (a *Agent) enqueue(data []byte) {
	select {
	case a.inbox <- data:
	case <-a.closing:
	}
}

// unsubscribe ends the subscription of Run; what waits in the inbox is lost.
func (a *Agent) unsubscribe(sub wire.Subscription) {
	if err := wire.Unsubscribe(sub, a.inbox); err != nil {
		a.log.Debug("unsubscribe", "error", err)
	}
}

// seek tells the host which run this worker serves, or that it has none. What answers an earlier Seek counts no more.
// A Seek that is lost is followed by the next.
func (a *Agent) seek() {
	a.number++
	a.order, a.soughtAt = 0, time.Now()
	msg := &wire.Seek{
		Header: wire.Header{Run: wire.Pool, From: a.cfg.ID, Token: a.cfg.Token},
		Build:  a.cfg.Info, Slots: a.cfg.Slots, Numerics: a.cfg.Numerics, Number: a.number,
	}
	if a.worker != nil {
		msg.Serving = a.worker.cfg.Run
	}
	data, err := a.encoder.Encode(msg)
	if err == nil {
		err = a.bus.Publish(wire.By(wire.SeekSubject, a.bus.Key()), data)
	}
	if err != nil {
		a.log.Debug("message lost", "subject", wire.SeekSubject, "error", err)
	}
}

// receive handles a message of the host. It obeys Assign and Refusal, and drops all else. An error ends the agent.
func (a *Agent) receive(data []byte) error {
	msg, err := wire.Decode(data)
	if err != nil {
		a.log.Debug("message dropped", "error", err)
		return nil
	}
	if h := msg.Head(); h.Run != wire.Pool || h.From != "" || h.Token != a.mark {
		return nil
	}
	switch msg := msg.(type) {
	case *wire.Refusal:
		return a.refuse(msg)
	case *wire.Assign:
		if msg.Number != a.number || msg.Order <= a.order {
			return nil // it answers an older Seek, or was overtaken
		}
		a.answeredAt, a.order, a.refused = time.Now(), msg.Order, 0
		a.assign(msg.To)
	}
	return nil
}

// refuse handles a refusal of the host. It ends an agent that has never worked: its arithmetic or its release is not
// the coordinator's. One that has worked goes on with what it does, and seeks later. The pauses grow from hostPause
// to longestPause.
func (a *Agent) refuse(msg *wire.Refusal) error {
	if !a.worked && (a.worker == nil || !a.worker.used()) {
		return fmt.Errorf("%w: %s; %s", ErrRefused, msg.Reason, msg.Remedy)
	}
	wait := min(hostPause<<min(a.refused, 10), longestPause)
	if a.refused++; a.refused == 1 {
		a.log.Warn("the host refuses this worker, which has worked before; it seeks again later", "reason", msg.Reason,
			"remedy", msg.Remedy, "pause", wait)
	}
	if until := time.Now().Add(wait); until.After(a.resumes) {
		a.resumes = until
	}
	return nil
}

// assign makes the agent leave for a run. An empty name is the answer to a Seek when there is no run; it ends
// nothing. It answers nothing: the next Seek says which run is served.
func (a *Agent) assign(run string) {
	switch {
	case setting.CheckRun(run) != nil:
	// It has just failed in this run, and goes back to it when the pause is over.
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

// serve starts a worker for a run. The worker has a goroutine of its own, and inherits what the one before has left.
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
	a.kept = cache{}
	var ctx context.Context
	ctx, a.stop = context.WithCancel(context.Background())
	a.worker, a.began = w, time.Now()
	a.log.Info("serving run", "run", run)
	go func() { a.ended <- w.Run(ctx) }()
}

// back is called when the worker of a run has ended. It seeks again at once, or after a pause if there was an error.
func (a *Agent) back(err error) {
	now, run, ordered := time.Now(), a.worker.cfg.Run, a.next != ""
	a.stop()
	a.worked = a.worked || a.worker.used()
	// Data set and program are kept: the next run may need the same ones.
	a.kept, a.worker = a.worker.leave(), nil
	// A run that went well, or long, shows that the worker itself is sound.
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
		a.kept = cache{} // it may have caused the error
		a.log.Error("run left", "run", run, "error", err, "pause", a.resumes.Sub(now))
	case ordered:
		a.log.Info("run left for another", "run", run, "next", a.next)
	} // or the run has ended, which the worker has logged
	a.waitsFrom, a.loggedAt = now, time.Time{}
	// Who sent it to another run has waited for this worker to leave.
	if ordered {
		next := a.next
		a.next = ""
		a.assign(next)
	}
	if a.worker == nil && now.After(a.resumes) {
		a.seek()
	}
}

// tick sends a Seek if there is no run, and logs from time to time what the agent waits for. It is called every
// second.
func (a *Agent) tick() {
	now := time.Now()
	if a.worker == nil || a.worker.turns(now) {
		a.alive()
	}
	if now.Before(a.resumes) {
		return
	}
	if a.worker != nil {
		if now.Sub(a.soughtAt) >= serving {
			a.seek()
		}
		return
	}
	a.seek()
	if now.Sub(a.waitsFrom) >= waitingAfter && now.Sub(a.loggedAt) >= waitingEvery {
		a.loggedAt = now
		a.log.Info("waiting", "for", a.waitsFor(now), "seconds", now.Sub(a.waitsFrom).Seconds())
	}
}

// waitsFor is what the agent waits for. It is for people.
func (a *Agent) waitsFor(now time.Time) string {
	if trouble := a.trouble(); trouble != "" {
		return trouble
	}
	if now.Sub(a.answeredAt) >= hostSilent {
		return "a coordinator: none answers on this broker"
	}
	return "work: the coordinator has no run for this worker"
}
