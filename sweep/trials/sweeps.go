package trials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/sweep"
)

// Sweeps are the sweeps of a folder. With a host they are led here, any number at the same time, and their trials
// are runs of the host; without one they are led by other processes. Dir, Kinds and Leader are set before the
// first call; the methods may be called concurrently.
type Sweeps struct {
	Dir    string // of the sweeps
	Kinds  *config.Kinds
	Leader Leader

	mu  sync.Mutex
	ctx context.Context      // its end interrupts the sweeps; nil: the host is not ready
	all sync.WaitGroup       // of the goroutines that lead sweeps
	led map[string]*ledSweep // by name; those that have ended are not in it
}

// ledSweep is a sweep that is led here. It passes through two moments, in this order: begun, when others can find
// it by its journal, and end, when its lock is free. One that fails at its beginning has both at once.
type ledSweep struct {
	once  sync.Once
	begun chan struct{} // closed when its journal says what the sweep is, or when it failed before that
	err   error         // why it failed; to be read once begun is closed
	end   chan struct{} // closed at its end
}

// patient leads a sweep, and again after a while where it has ended because the disk had no room for its journal or
// its results: nobody else continues it. One that has not begun is refused, and one that is to stop ends. The end of
// ctx ends the wait.
func (l *ledSweep) patient(ctx context.Context, j *Job, log hclog.Logger, try func() error) (err error) {
	room := lead.AwaitRoom(ctx, func(told bool) bool {
		err = try()
		select {
		case <-l.begun:
		default:
			return false
		}
		if !lead.NoRoom(err) || j.Folder.Order() == sweep.Halt {
			return false
		}
		if told {
			log.Error("the sweep waits for its disk", "error", err, "remedy", "free some space; it goes on by itself")
		}
		j.obeys = true // what it is told meanwhile stands
		return true
	})
	if !room {
		err = errors.Join(sweep.ErrInterrupted, err)
	}
	return err
}

// begin closes begun; a second call does nothing.
func (l *ledSweep) begin(err error) {
	l.once.Do(func() {
		l.err = err
		close(l.begun)
	})
}

// wait waits until the journal says what the sweep is. It returns why the sweep failed before that, if it did.
func (l *ledSweep) wait() error {
	<-l.begun
	return l.err
}

// Ready goes on with the sweeps that an earlier coordinator has left, and leads sweeps until ctx ends; it returns
// when all of them have been interrupted. Sweeps that are done, that the user has stopped, or that a command leads,
// stay as they are, and one that is paused waits for another order. One that cannot go on is logged, and does not keep
// others from it; one for which there is no room is tried again.
func (m *Sweeps) Ready(ctx context.Context) {
	m.mu.Lock()
	m.ctx, m.led = ctx, map[string]*ledSweep{}
	m.mu.Unlock()
	later := List(m.Dir)
	lead.AwaitRoom(ctx, func(told bool) bool {
		later = m.takeUp(later, told)
		return len(later) > 0
	})
	<-ctx.Done()
	m.all.Wait()
}

// takeUp goes on with those of some sweeps that go on by themselves. It returns those for which there was no room,
// which are tried again; the log says so if that is to be told.
func (m *Sweeps) takeUp(list []Folder, told bool) (later []Folder) {
	for _, f := range list {
		state, err := f.State()
		if err == nil && (state.Done || f.Order() == sweep.Halt) {
			continue
		}
		if from, err := f.remembered(); err == nil && from.Leader == byCommand {
			continue
		}
		if err == nil || errors.Is(err, ErrNotFound) { // its process ended before the first record
			err = m.again(f, 0, true)
		}
		room := !lead.NoRoom(err)
		if !room {
			later = append(later, f)
		}
		if err != nil && (told || room) {
			m.Leader.Log.Error("a sweep cannot go on", "sweep", f.Name, "error", err, "hint", config.HintOf(err),
				"tried_again", !room)
		}
	}
	return later
}

// again goes on with a sweep of the folder. extend is the number of trials to extend it to; 0: none. With obeys an
// order that was given before stands.
func (m *Sweeps) again(f Folder, extend int, obeys bool) error {
	j, err := Again(Request{Kinds: m.Kinds, Folder: f, Path: f.Path(SpecFile)})
	if err != nil {
		return err
	}
	j.obeys = obeys
	return m.lead(j, extend)
}

// lead begins to lead a sweep, and returns when others can find it: its journal is there. A sweep that is led
// already goes on as it is.
func (m *Sweeps) lead(j *Job, extend int) error {
	l, err := m.start(j, extend)
	if err != nil {
		return err
	}
	return l.wait()
}

// start begins to lead a sweep in a goroutine of its own; one that is led already is returned as it is. Before
// the host is ready and after its end it returns an ops.Unavailable error.
func (m *Sweeps) start(j *Job, extend int) (*ledSweep, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx == nil || m.ctx.Err() != nil {
		return nil, &ops.Error{Code: ops.Unavailable, Text: "the coordinator is not ready", Hint: "ask again soon"}
	}
	// Nobody else may begin under this name: the place is taken before the goroutine starts.
	if l := m.led[j.Folder.Name]; l != nil {
		return l, nil
	}
	l := &ledSweep{begun: make(chan struct{}), end: make(chan struct{})}
	m.led[j.Folder.Name] = l
	ctx := m.ctx
	m.all.Go(func() {
		log := m.Leader.Log.With("sweep", j.Folder.Name)
		leader := m.Leader
		leader.Begun = func() {
			log.Info("sweep is running")
			l.begin(nil)
		}
		err := l.patient(ctx, j, log, func() error { return j.Lead(ctx, leader, extend) })
		switch {
		case errors.Is(err, sweep.ErrInterrupted):
			log.Info("sweep interrupted")
		case err != nil:
			log.Error("sweep ended", "error", err, "hint", config.HintOf(err))
		default:
			log.Info("sweep done")
		}
		m.mu.Lock()
		delete(m.led, j.Folder.Name)
		m.mu.Unlock()
		l.begin(err)
		close(l.end)
	})
	return l, nil
}

// state reads the journal of a sweep. A name that no sweep can have is ErrNotFound.
func (m *Sweeps) state(name string) (Folder, *sweep.State, error) {
	f := Folder{m.Dir, name}
	if err := setting.CheckRun(name); err != nil {
		return f, nil, config.Usage(fmt.Errorf("%w: %w", ErrNotFound, err))
	}
	state, err := f.State()
	return f, state, err
}

// List implements Operations.
func (m *Sweeps) List() ([]Summary, error) { return summaries(m.Dir) }

// Show implements Operations.
func (m *Sweeps) Show(name string) (*Shown, error) {
	f, state, err := m.state(name)
	if err != nil {
		return nil, err
	}
	return f.Shown(state), nil
}

// Best implements Operations.
func (m *Sweeps) Best(name string) (*Best, error) {
	f, state, err := m.state(name)
	if err != nil {
		return nil, err
	}
	return f.best(state, m.Leader)
}

// submit begins a sweep. The configuration files that it names come with the request, and are kept in its folder.
func (m *Sweeps) submit(f Folder, r ops.SweepRequest) (*Summary, error) {
	if err := CheckName(f.Name); err != nil {
		return nil, err
	}
	from := source{Environment: r.Environment, Files: r.Files}
	j, err := Prepare(Request{
		Folder: f, Path: SpecFile, Text: []byte(r.Spec), Kinds: m.Kinds, Environment: r.Environment,
		Read: from.read,
	})
	if err != nil {
		return nil, err
	}
	j.source = from
	if err := m.lead(j, 0); err != nil {
		return nil, err
	}
	state, err := f.State()
	if err != nil {
		return nil, err
	}
	u := f.Summary(state)
	return &u, nil
}

// Order implements Operations. A host goes on with a sweep that nobody leads; elsewhere that is a matter of the
// command that began it. A sweep that is done obeys no order, and one that is not led cannot be stopped.
func (m *Sweeps) Order(name string, o sweep.Order) (*Summary, error) {
	l, err := m.here(name)
	if err != nil {
		return nil, err
	}
	f, state, err := m.state(name)
	if err != nil {
		return nil, err
	}
	switch {
	case state.Done:
		err = config.Hint(config.Usagef("sweep %s is done", name), "more trials: %s",
			m.Leader.line("sweep", "extend", name))
	// A process leads it, here or elsewhere, and is told.
	case l.running(f):
		err = l.obey(f, o)
	case o != sweep.Proceed:
		err = config.Usagef("sweep %s is not running: no process leads it", name)
	case m.Leader.Host == nil:
		err = config.Hint(config.Usagef("no process leads sweep %s any more", name), "%s", m.continued(f))
	default:
		err = m.again(f, 0, false)
	}
	if err != nil {
		return nil, err
	}
	if state, err = f.State(); err != nil {
		return nil, err
	}
	u := f.Summary(state)
	return &u, nil
}

// continued says what continues a sweep of the folder that nobody leads.
func (m *Sweeps) continued(f Folder) string {
	if from, err := f.remembered(); err == nil && from.Leader == byCoordinator {
		return "a coordinator continues it: with --nats, sweep resume asks the one whose sweeps these are"
	}
	return "this continues it, as the command that started it does: " +
		m.Leader.line("sweep", f.Path(SpecFile), "--name", f.Name)
}

// here is the sweep of that name if it is led here, once its journal is there; else nil.
func (m *Sweeps) here(name string) (*ledSweep, error) {
	m.mu.Lock()
	l := m.led[name]
	m.mu.Unlock()
	if l == nil {
		return nil, nil
	}
	return l, l.wait()
}

// running reports whether the sweep is led here, or by another process.
func (l *ledSweep) running(f Folder) bool {
	if l != nil {
		select {
		case <-l.end:
		default:
			return true
		}
	}
	return f.Led()
}

// obey gives an order, and waits until the journal has it, or until nobody leads the sweep any more: who asks for the
// sweep next then sees it.
func (l *ledSweep) obey(f Folder, o sweep.Order) error {
	if err := f.SetOrder(o); err != nil {
		return err
	}
	// A stopped sweep has to be let go of, too, and no trial of a paused one may run; a resumption is there when the
	// journal has it.
	runs := func(t *sweep.Trial) bool { return o == sweep.Pause && t.Status == sweep.StatusRunning }
	for ; l.running(f); time.Sleep(20 * time.Millisecond) {
		state, err := f.State()
		if err != nil || state.Order == o && o != sweep.Halt && !slices.ContainsFunc(state.Trials, runs) {
			return err
		}
	}
	return nil
}

// Extension is the number of trials that a sweep has with more of them. Nobody may lead it, and more is at least
// 1.
func (m *Sweeps) Extension(name string, more int) (Folder, int, error) {
	l, err := m.here(name)
	if err != nil {
		return Folder{}, 0, err
	}
	f, state, err := m.state(name)
	switch {
	case err != nil:
		return f, 0, err
	case more < 1:
		return f, 0, config.Hint(config.Usagef("--trials %d: at least 1", more), "a cohort has %d", state.Spec.Stop.Cohort)
	case l.running(f):
		return f, 0, config.Usagef("sweep %s is running: stop it before you extend it", name)
	}
	return f, state.Spec.Trials + more, nil
}

// Extend implements Operations. It returns when the sweep goes on.
func (m *Sweeps) Extend(name string, more int) (*Shown, error) {
	f, to, err := m.Extension(name, more)
	if err == nil {
		err = m.again(f, to, false)
	}
	if err != nil {
		return nil, err
	}
	return m.Show(name)
}

// extend is Extend for a request that may have come before: then the sweep has the trials already. From is the number
// that it had; 0: an older client does not say.
func (m *Sweeps) extend(r ops.SweepRequest) (*Shown, error) {
	if _, err := m.here(r.Name); err != nil { // an earlier one may be under way
		return nil, err
	}
	_, state, err := m.state(r.Name)
	switch {
	case err != nil:
		return nil, err
	case r.From > 0 && r.Trials > 0 && state.Spec.Trials == r.From+r.Trials:
		return m.Show(r.Name)
	case r.From > 0 && state.Spec.Trials != r.From:
		return nil, config.Hint(config.Usagef("sweep %s was extended meanwhile, from %d trials to %d", r.Name, r.From,
			state.Spec.Trials), "look at it, and extend it again if it is to have still more")
	}
	return m.Extend(r.Name, r.Trials)
}
