package coordinator

import (
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

// machine is the state of a run's coordinator. It has no clock, no network and no goroutine: times are passed in, as
// time since the run began, and what is to be done is written to out. It consists of parts, each with a state of its
// own, and says in which order they act. A part uses those above it in this list, and none below.
//
// Invariant: what the machine holds is a function of the configuration and of the events that it was given, in order.
// Its owner calls one method at a time, and takes the commands before the next.
type machine struct {
	cfg       Config
	term      uint64 // incarnation of the coordinator
	job       string // hash of the job; empty: there is none
	place     string // where memory is shared with workers of this host; empty: nowhere
	figures   Stats
	out       outbox
	life      life           // whether the run goes on
	accounts  trust.Accounts // what is held against workers
	members   members        // who takes part
	timing    timing         // how long things may take
	auditing  trust.Auditing // which blocks are computed twice
	exchange  summing        // how gradients get here
	transfer  transfer       // how vectors travel
	leasing   leasing        // who computes what
	run       run            // parameters and steps
	judgement judgement      // which bits are right
}

// newMachine starts at theta, which it copies, with the given bytes per chunk. It panics for a configuration that
// validate refuses.
func newMachine(cfg Config, theta []float32, chunk int) *machine {
	length := len(theta)
	grid, err := cfg.grid(length)
	if err != nil {
		panic(err) // the configuration was not validated
	}
	if grid != nil {
		length = grid.Len()
	}
	chunks := wire.NewChunking(length, chunk)
	// The exponents stand behind the parameters, so that both go out as one vector.
	state := append(make([]float32, 0, length), theta...)[:length]
	opt := newOptimiser(&cfg, state[:len(theta)])
	m := &machine{
		cfg: cfg, term: 1, life: life{reportedAt: -time.Second},
		timing:   timing{detection: cfg.FailureDetection, stride: int(opt.Stride())},
		auditing: trust.Auditing{Run: cfg.Run, Share: cfg.Audit, Sums: cfg.AuditSums, Here: cfg.AuditHere},
	}
	if len(cfg.Job) > 0 {
		m.job = wire.HashData(cfg.Job)
	}
	m.exchange = summing{
		Choice:   exchange.Choice{Mode: cfg.Exchange, Here: cfg.AuditHere},
		auditing: &m.auditing,
	}
	m.accounts = trust.NewAccounts()
	m.members = newMembers(&m.out)
	m.transfer = transfer{
		credit: cfg.Credit, chunks: cfg.Gradients.Chunking(length, 4*chunks.Elements),
		data: newDataset(cfg.Data, 4*chunks.Elements), timing: &m.timing, out: &m.out,
	}
	m.leasing = leasing{
		life: &m.life, opt: opt, members: &m.members, timing: &m.timing, transfer: &m.transfer, auditing: &m.auditing,
		exchange: &m.exchange, accounts: &m.accounts, out: &m.out, figures: &m.figures, byID: make(map[uint64]*lease),
	}
	m.run = run{
		cfg: &m.cfg, life: &m.life, opt: opt, exchange: &m.exchange, integers: exchange.NewIntegers(grid, state[len(theta):]),
		chunks: chunks, state: state, shown: state,
		milestones: newMilestones(&cfg), members: &m.members, timing: &m.timing, transfer: &m.transfer,
		leasing: &m.leasing, out: &m.out, figures: &m.figures,
	}
	m.judgement = judgement{
		Judgement: trust.Judgement{HasReferee: cfg.Referee != nil, Audits: &m.auditing}, terms: len(cfg.TermNames),
		life: &m.life, members: &m.members, timing: &m.timing, transfer: &m.transfer, exchange: &m.exchange,
		leasing: &m.leasing, run: &m.run, out: &m.out, figures: &m.figures,
	}
	return m
}

// resume continues from a checkpoint, in a term of its own. The shell raises it further if the log or the file of the
// term says more.
func (m *machine) resume(cp *Checkpoint) {
	m.run.restore(cp)
	m.term = cp.Term + 1
}

// take returns what is to be done, and forgets it. The slice is valid until the next event.
func (m *machine) take() []command { return m.out.take() }

// start opens the first step.
func (m *machine) start(now time.Duration) { m.run.start(now) }

// stop ends the run when the step under way is done, or sooner: see run.stop.
func (m *machine) stop() { m.run.stop() }

// verdict handles what the referee has computed. One that is no longer waited for is dropped.
func (m *machine) verdict(now time.Duration, v trust.Verdict) {
	m.judgement.verdict(now, v)
	m.conclude(now)
}

// rewind continues from a checkpoint. The shell has raised the term before, so that messages about the steps that are
// undone are refused. Members are forgotten: they introduce themselves anew, as to a new coordinator.
func (m *machine) rewind(now time.Duration, cp *Checkpoint) {
	m.auditing.Undone(m.run.opt.step)
	rounds := m.run.opt.rounds()
	m.run.rewind(cp)
	// Pauses are counted in rounds, and go back with the run.
	back := rounds - m.run.opt.rounds()
	m.exchange.Rewind(back)
	m.accounts.Rewind(cp.Step, back)
	for _, w := range m.members.list {
		m.transfer.endFetch(&w.fetch)
		m.accounts.Leave(w.Account)
	}
	m.members.clear()
	m.life.resume()
	m.run.start(now)
}

// receive handles a message of a worker. What fails a check is refused and changes nothing.
func (m *machine) receive(now time.Duration, msg wire.Message) {
	if !m.life.active() {
		return
	}
	h := msg.Head()
	if a := m.accounts.Banned(h.Token); a != nil {
		m.receiveBanned(a, msg)
		return
	}
	w := m.members.get(h.From, h.Token)
	if reason, detail, offence := m.admit(w, msg); reason != "" {
		if w == nil {
			m.out.reject("", reason, "%s", detail)
			return
		}
		m.out.refuse(w, reason, offence, detail)
		m.conclude(now)
		return
	}
	// A message that is accepted may cause refused ones, such as its own repetition.
	noise := 0
	if w != nil {
		w.lastSeen, noise = now, w.Noise()
	}
	m.handle(now, w, msg)
	if w != nil && w.Noise() == noise {
		w.Allow(1)
	}
	m.conclude(now)
}

// handle gives a message that was admitted to the part that it is for. Only a Hello and a Heartbeat come without a
// member.
func (m *machine) handle(now time.Duration, w *member, msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.Hello:
		m.hello(now, w, msg)
	case *wire.Fetch:
		m.fetch(now, w, msg)
	case *wire.Ready:
		m.becomeReady(now, w, msg)
	case *wire.Heartbeat:
		m.beat(now, w, msg)
	case *wire.Need:
		m.resendTheta(w, msg)
	case *wire.Result:
		m.announce(now, w, msg)
	case exchange.Stored:
		m.arrive(now, w, msg)
	case *wire.Chunk:
		m.refuseChunk(w, msg)
	case *wire.Share:
		m.share(w, msg)
	case *wire.ChunksAt:
		m.refuseChunksAt(w, msg)
	case *wire.Bye:
		m.run.remove(now, w, "said goodbye")
	}
}

// tick does what is due after a time: it asks again for lost chunks, looks after audits, disputes and slow workers,
// and reports what the run waits for. It is called twenty times in a failure detection, so every limit that follows
// from it is met with a small error.
func (m *machine) tick(now time.Duration) {
	if !m.life.active() {
		return
	}
	// What was lost first: it may free credit and blocks for what follows.
	m.pullAgain(now)
	m.transfer.endLostFetches(now, m.members.list)
	m.show(now)
	m.judgement.tick(now)
	m.leasing.assign(now)
	m.leasing.nudge(now)
	m.leasing.speculate(now)
	m.leasing.cover(now)
	m.watch(now)
	m.conclude(now)
	if !m.life.active() {
		return
	}
	m.leasing.spend(now)
	m.reportWaiting(now)
}

// conclude ends an event. If a task was to enter a phase that does not follow, the run ends. Members with too many
// offences are cut off.
func (m *machine) conclude(now time.Duration) {
	if err := m.leasing.broken(); err != nil && m.life.active() {
		m.run.finish(err)
	}
	m.settle(now)
	m.judgement.cutOff(now)
}

// show sends all workers a message if there was none for a while, as in a long round. Otherwise they would believe the
// coordinator lost, introduce themselves anew, and be sent the parameters once more.
func (m *machine) show(now time.Duration) {
	if m.members.ready() > 0 && now-m.life.spokeAt >= 2*m.cfg.FailureDetection {
		m.life.spokeAt = now
		m.out.broadcast(&wire.Introduce{})
	}
}

// reportWaiting reports once a second what the run waits for.
func (m *machine) reportWaiting(now time.Duration) {
	waiting := m.leasing.waiting(now)
	if m.life.wait(now, waiting) {
		report := m.members.report()
		report.Waiting, report.Seconds = waiting, (now - m.life.waitSince).Seconds()
		m.out.add(report)
	}
}
