package coordinator

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/optim"
	"github.com/switchyard-ml/switchyard/internal/reduce"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// machine is the state of a run's coordinator. It has no clock, no network and no goroutine: times are passed in, as
// time since the run began, and what is to be done is appended to out.
type machine struct {
	cfg          Config
	term         uint64
	chunks       wire.Chunking // of state
	sums         wire.Chunking // of the gradient of a block
	state        []float32     // the parameters, which are the optimiser's, and the exponents of integers behind them
	pass         int           // how often the work at these parameters was begun anew
	narrow       int           // how often the gradient of this step did not fit its scales
	integers     *integers     // nil: gradients are float32
	opt          *optimiser
	members      []*member // in order of arrival
	byKey        map[key]*member
	accounts     map[uint64]*account // by token
	names        map[string]uint64   // by id: the first token that was ready under it
	shared       map[string]bool     // ids under which more than one token was ready
	before       map[uint64]uint64   // who contributed to the parameters before this coordinator: see contributors
	key          [32]byte            // decides which blocks are audited
	job          string              // hash of the job; empty: there is none
	rounds       []*round            // under way at the present step: validation before gradient
	leases       []*lease            // of the present step, by id
	byID         map[uint64]*lease
	lastID       uint64
	lastQuestion uint64
	inFlight     int // bytes of gradients asked for and not there; see affords
	intake       intake
	data         dataset
	typical      typicalTimes
	asked        map[uint64]*task // what the referee is asked, by question
	disputes     []*task          // of the present step
	figures      Stats
	arrivedAt    time.Duration // of the last chunk of anybody
	waitsFor     string        // what the run waits for
	pool         [][]float32   // vectors of the parameters' size, not in use

	validated uint64 // step that was last validated
	best      float64
	bestStep  uint64
	saved     uint64 // step of the last checkpoint
	unsaved   bool   // a checkpoint is due when the validation is done
	spare     *Checkpoint

	shownAt   time.Duration // when something was last said to all workers
	waitSince time.Duration // when the run began to wait
	waitTold  time.Duration // when that was last reported
	stopping  bool
	finished  bool
	suspended bool   // until the shell has gone back to a checkpoint
	wary      uint64 // below this step all blocks are audited: a liar has undone them before

	out []command
}

// never is the step of a checkpoint that was not written.
const never = math.MaxUint64

// newMachine starts at theta, which it copies, with the given bytes per chunk.
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
	state := append(make([]float32, 0, length), theta...)[:length]
	m := &machine{
		cfg: cfg, term: 1, chunks: chunks, sums: cfg.Gradients.Chunking(length, 4*chunks.Elements), state: state,
		integers: newIntegers(grid, state[len(theta):]), opt: newOptimiser(&cfg, state[:len(theta)]),
		data:  newDataset(cfg.Data, 4*chunks.Elements),
		byKey: make(map[key]*member), accounts: make(map[uint64]*account),
		names: make(map[string]uint64), shared: make(map[string]bool),
		intake: intake{boxes: make(map[uint64]*box)},
		byID:   make(map[uint64]*lease), asked: make(map[uint64]*task), best: math.Inf(1), saved: never, waitTold: -time.Second,
	}
	if len(cfg.Job) > 0 {
		m.job = wire.HashData(cfg.Job)
	}
	return m
}

// resume continues from a checkpoint, in a term of its own.
func (m *machine) resume(cp *Checkpoint) {
	m.opt.restore(cp)
	m.integers.restore(cp.Levels)
	m.term = cp.Term + 1
	m.validated, m.best, m.bestStep, m.saved = cp.Validated, cp.BestLoss, cp.BestStep, cp.Step
}

// Time limits, all derived from the one that is configured.
func (m *machine) heartbeat() time.Duration { return m.cfg.FailureDetection / 5 }
func (m *machine) patience() time.Duration  { return m.cfg.FailureDetection / 5 }

// take returns what is to be done, and forgets it. The slice is valid until the next event.
func (m *machine) take() []command {
	out := m.out
	m.out = m.out[:0]
	return out
}

func (m *machine) emit(c command) { m.out = append(m.out, c) }

func (m *machine) send(to string, msg wire.Message) {
	*msg.Head() = wire.Header{Run: m.cfg.Run, Term: m.term}
	m.emit(sendCommand{to, msg})
}

// tell sends a message to a worker alone.
func (m *machine) tell(to string, mark uint64, msg wire.Message) {
	m.send(to, msg)
	msg.Head().Token = mark
}

func (m *machine) reject(worker string, reason Reason, format string, args ...any) {
	m.emit(rejectCommand{worker, reason, fmt.Sprintf(format, args...)})
}

// start opens the first step.
func (m *machine) start(now time.Duration) {
	m.waitSince = now
	m.send("", &wire.Introduce{})
	m.open(now)
}

// stop ends the run when the step under way is done, or at once if nobody works on one or it is a round of local steps.
func (m *machine) stop(now time.Duration) {
	m.stopping = true
	m.stopIdle()
}

// stopIdle ends a run that is to stop and has nothing to wait for. A round of local steps is not waited for: it can take
// minutes, and begins again when the run is resumed.
func (m *machine) stopIdle() {
	if !m.stopping || m.finished || m.suspended {
		return
	}
	if n := len(m.rounds); m.ready() == 0 || n == 0 || m.rounds[n-1].work != wire.Gradient || m.opt.Stride() > 1 {
		m.finish(ErrInterrupted)
	}
}

// underWay says what becomes of the step under way when the run is to stop.
func (m *machine) underWay() string {
	if m.opt.Stride() > 1 {
		return "the round under way is given up"
	}
	return "the step under way is finished first"
}

// open begins the work at the present parameters: validation if it is due, and the gradient of the next step.
func (m *machine) open(now time.Duration) {
	a := m.opt
	m.shownAt = now
	m.clear(now)
	validate := m.validationDue()
	if validate {
		m.rounds = append(m.rounds, newRound(wire.Validate, m.cfg.ValidationShards))
	}
	if a.step < m.cfg.Steps {
		r := newRound(wire.Gradient, m.cfg.Shards)
		r.tree.Peaks = m.integers.peaks()
		r.apart = a.Stride() > 1
		m.rounds = append(m.rounds, r)
	}
	if len(m.rounds) == 0 {
		m.finish(nil)
		return
	}
	if m.stopping {
		m.finish(ErrInterrupted)
		return
	}
	if m.ready() > 0 {
		m.emit(thetaCommand{count: m.chunks.Count()})
	}
	m.assign(now)
	if m.cfg.CheckpointEvery > 0 && a.step > 0 && a.step%m.cfg.CheckpointEvery == 0 && a.step != m.saved {
		if m.unsaved = validate; !validate {
			m.save(false)
		}
	}
}

// clear drops all that belongs to the work at the last parameters.
func (m *machine) clear(now time.Duration) {
	for _, l := range m.leases { // pulled, and not needed
		m.forget(l)
	}
	for _, r := range m.rounds {
		r.tree.Reset(reduce.Block{Count: 1}, m.recycle)
	}
	clear(m.byID)
	clear(m.asked)
	m.leases, m.rounds, m.disputes, m.inFlight = m.leases[:0], m.rounds[:0], m.disputes[:0], 0
	for _, w := range m.members {
		m.load(now, w, -w.busy)
		w.computed = 0
	}
}

func (m *machine) validationDue() bool {
	s := m.opt.step
	if m.cfg.ValidationShards == 0 || s == 0 || s == m.validated {
		return false
	}
	return s == m.cfg.Steps || m.cfg.ValidateEvery > 0 && s%m.cfg.ValidateEvery == 0
}

// save hands a copy of the present state to the shell, which gives its memory back when it is written.
func (m *machine) save(best bool) {
	m.saved, m.unsaved = m.opt.step, false
	cp := m.spare
	m.spare = nil
	if cp == nil {
		cp = new(Checkpoint)
	}
	*cp = Checkpoint{
		Run: m.cfg.Run, Seed: m.cfg.Seed, Term: m.term, Theta: cp.Theta, Moments: cp.Moments,
		Levels:    append(cp.Levels[:0], m.integers.levels()...),
		Validated: m.validated, BestStep: m.bestStep, BestLoss: m.best,
	}
	m.opt.save(cp)
	m.emit(checkpointCommand{cp, best})
}

// finish writes a checkpoint of the present parameters and ends the run.
func (m *machine) finish(err error) {
	m.finished = true
	if m.saved != m.opt.step || m.unsaved {
		m.save(false)
	}
	reason := "done"
	if err != nil {
		reason = err.Error()
	}
	m.send("", &wire.End{Reason: clip(reason)})
	m.emit(finishCommand{err})
}

// clip cuts a text to what a message may hold.
func clip(s string) string { return s[:min(len(s), wire.MaxText)] }

// settle puts the bits of a task into its round's tree, and closes what is complete by it. Who failed at the block is
// shown to have been wrong.
func (m *machine) settle(now time.Duration, t *task, p reduce.Partial, from Credit) {
	t.merged = true
	for _, f := range t.failures {
		f.account.offences++
	}
	r := t.round
	r.dropAudit(t)
	r.retry = slices.DeleteFunc(r.retry, func(o retry) bool { return o.task == t })
	r.credits = append(r.credits, from)
	r.open -= t.block.Count
	m.figures.Useful += uint64(t.block.Count)
	r.tree.Add(t.block, p, m.recycle)
	if r.total, r.done = r.tree.Take(); !r.done {
		return
	}
	m.closeTimes(r)
	if r.work == wire.Validate {
		m.closeValidation(r)
	}
	m.closeIfDone(now)
}

// closeIfDone closes the step if all is summed and nobody doubts it.
func (m *machine) closeIfDone(now time.Duration) {
	for _, r := range m.rounds {
		if !r.done {
			return
		}
	}
	if len(m.disputes) == 0 {
		m.closeStep(now)
	}
}

// recycle keeps the vector of a partial for the next pull.
func (m *machine) recycle(p reduce.Partial) {
	if p.Values != nil {
		m.pool = append(m.pool, p.Values)
	}
}

func (m *machine) vector() []float32 {
	n := len(m.pool)
	if n == 0 {
		return make([]float32, m.sums.Size)
	}
	v := m.pool[n-1]
	m.pool = m.pool[:n-1]
	return v
}

// closeValidation reports the mean terms and keeps the parameters if they are the best so far.
func (m *machine) closeValidation(r *round) {
	mean(r.total.Terms, m.cfg.ValidationShards)
	loss := float64(r.total.Terms[0])
	better := loss < m.best
	if better {
		m.best, m.bestStep = loss, m.opt.step
	}
	m.validated = m.opt.step
	m.emit(ValidationReport{Step: m.opt.step, Loss: r.total.Terms, Best: better})
	if better || m.unsaved {
		m.save(better)
	}
}

// closeStep updates the parameters and opens the next step.
func (m *machine) closeStep(now time.Duration) {
	r := m.rounds[len(m.rounds)-1]
	if r.work != wire.Gradient {
		m.open(now)
		return
	}
	if m.redo(r.total) {
		if !m.finished {
			m.pass++
			m.open(now)
		}
		return
	}
	norm, rate, err := m.opt.update(m.integers.gradient(r.total.Values), m.cfg.Shards)
	if err == nil {
		m.integers.close(r.total.Values)
	}
	m.recycle(r.total)
	if err != nil {
		if errors.Is(err, optim.ErrParameters) {
			m.saved = m.opt.step // they are no checkpoint
		}
		m.finish(fmt.Errorf("%w: step %d: %w: %s", ErrDiverged, m.opt.step+m.opt.Stride(), err, remedy))
		return
	}
	mean(r.total.Terms, m.cfg.Shards)
	if m.cfg.Log != "" {
		m.emit(logCommand{m.entry(r, norm, rate)}) // before the messages: a step that does not replay is not sent out
	}
	report := StepReport{Step: m.opt.step, Updates: m.opt.Stride(), Loss: r.total.Terms, GradNorm: norm, Rate: rate, Workers: m.ready()}
	report.Compute, report.Work = m.worked()
	m.waitSince = now
	m.doubtIdle()
	m.pass, m.narrow = 0, 0
	m.open(now)
	m.emit(report) // after the messages of the next step: workers need not wait for the observer
}

func mean(terms []float32, shards int) {
	for i := range terms {
		terms[i] *= 1 / float32(shards)
	}
}
