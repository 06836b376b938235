package trials

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep"
)

// Sweeps leads the sweeps of a coordinator, any number at the same time. Its trials are runs of the coordinator.
type Sweeps struct {
	Dir    string // of the sweeps
	Kinds  *config.Kinds
	Leader Leader
	// Describe writes what a sweep has found, for people: all of it, or the best trial only.
	Describe func(w io.Writer, f Folder, s *sweep.State, best bool) error

	mu  sync.Mutex
	ctx context.Context // its end interrupts the sweeps; nil: the host is not ready
	all sync.WaitGroup
	led map[string]*ledSweep
}

// ledSweep is a sweep that is led here.
type ledSweep struct {
	once  sync.Once
	begun chan struct{} // closed when its journal says what the sweep is, or when it failed before that
	err   error         // why it failed; to be read once begun is closed
	end   chan struct{} // closed at its end
}

// begin closes begun; a second call does nothing.
func (l *ledSweep) begin(err error) {
	l.once.Do(func() {
		l.err = err
		close(l.begun)
	})
}

// wait waits until the journal says what the sweep is.
func (l *ledSweep) wait() error {
	<-l.begun
	return l.err
}

// Ready goes on with the sweeps that an earlier coordinator has left, and leads sweeps until ctx ends.
func (m *Sweeps) Ready(ctx context.Context) {
	m.mu.Lock()
	m.ctx, m.led = ctx, map[string]*ledSweep{}
	m.mu.Unlock()
	for _, f := range List(m.Dir) {
		state, err := f.State()
		if err == nil && (state.Done || f.Order() == sweep.Halt) {
			continue
		}
		if err == nil || errors.Is(err, ErrNotFound) { // its process ended before the first record
			err = m.again(f, 0)
		}
		if err != nil {
			m.Leader.Log.Error("a sweep cannot go on", "sweep", f.Name, "error", err, "hint", config.HintOf(err))
		}
	}
	<-ctx.Done()
	m.all.Wait()
}

// again goes on with a sweep of the folder.
func (m *Sweeps) again(f Folder, extend int) error {
	j, err := Again(Request{Kinds: m.Kinds, Folder: f, Path: f.Path(SpecFile)})
	if err != nil {
		return err
	}
	return m.lead(j, extend)
}

// leadSweep begins to lead a sweep, and returns when others can find it: its journal is there. A sweep that is led
// already goes on as it is.
func (m *Sweeps) lead(j *Job, extend int) error {
	l, err := m.start(j, extend)
	if err != nil {
		return err
	}
	return l.wait()
}

func (m *Sweeps) start(j *Job, extend int) (*ledSweep, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx == nil || m.ctx.Err() != nil {
		return nil, &ops.Error{Code: ops.Unavailable, Text: "the coordinator is not ready", Hint: "ask again soon"}
	}
	if l := m.led[j.Folder.Name]; l != nil {
		return l, nil
	}
	if err := j.Begin(); err != nil {
		return nil, err
	}
	l := &ledSweep{begun: make(chan struct{}), end: make(chan struct{})}
	m.led[j.Folder.Name] = l
	ctx := m.ctx
	m.all.Go(func() {
		log := m.Leader.Log.With("sweep", j.Folder.Name)
		leader := m.Leader
		leader.Begun = func() {
			log.Info("sweep is under way")
			l.begin(nil)
		}
		err := j.Lead(ctx, leader, extend)
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

// Answer carries out a request.
func (m *Sweeps) Answer(r ops.SweepRequest) (ops.SweepAnswer, error) {
	text, err := m.answer(r)
	return ops.SweepAnswer{Text: text}, err
}

func (m *Sweeps) answer(r ops.SweepRequest) (string, error) {
	f := Folder{m.Dir, r.Name}
	switch r.Act {
	case ops.SweepSubmit:
		return m.submit(f, r)
	case ops.SweepList:
		return m.list()
	case ops.SweepShow, ops.SweepBest:
		state, err := f.State()
		if err != nil {
			return "", err
		}
		var b bytes.Buffer
		err = m.Describe(&b, f, state, r.Act == ops.SweepBest)
		return b.String(), err
	case ops.SweepStop, ops.SweepPause, ops.SweepResume, ops.SweepExtend:
		return m.order(f, r)
	}
	return "", config.Usagef("%q is nothing that can be asked of a sweep", r.Act)
}

func (m *Sweeps) list() (string, error) {
	var b strings.Builder
	for _, f := range List(m.Dir) {
		state, err := f.State()
		if errors.Is(err, ErrNotFound) {
			continue // it has just begun
		}
		if err != nil {
			return "", err
		}
		word := state.Word()
		if !state.Done && !f.Led() {
			word = "interrupted"
		}
		fmt.Fprintf(&b, "%-24s %-12s %d trials\n", f.Name, word, len(state.Trials))
	}
	if b.Len() == 0 {
		return "no sweeps\n", nil
	}
	return b.String(), nil
}

// submit begins a sweep. The configuration files that it names come with the request, and are kept in its folder.
func (m *Sweeps) submit(f Folder, r ops.SweepRequest) (string, error) {
	if err := CheckName(f.Name); err != nil {
		return "", err
	}
	read := func(path string) ([]byte, error) {
		text, ok := r.Files[filepath.Base(path)]
		if !ok {
			return nil, fmt.Errorf("%w: %s did not come with the sweep", fs.ErrNotExist, path)
		}
		return []byte(text), nil
	}
	j, err := Prepare(Request{
		Folder: f, Path: SpecFile, Text: []byte(r.Spec), Kinds: m.Kinds, Environment: r.Environment,
		Read: read,
	})
	if err != nil {
		return "", err
	}
	j.source = source{Environment: r.Environment, Files: r.Files}
	if err := m.lead(j, 0); err != nil {
		return "", err
	}
	return fmt.Sprintf("submitted  sweep %s: it is under way\n", f.Name), nil
}

// order gives an order to a sweep. One that is not led goes on with resume and extend.
func (m *Sweeps) order(f Folder, r ops.SweepRequest) (string, error) {
	m.mu.Lock()
	led := m.led[f.Name]
	m.mu.Unlock()
	if led != nil {
		if err := led.wait(); err != nil {
			return "", err
		}
	}
	state, err := f.State()
	if err != nil {
		return "", err
	}
	switch {
	case r.Act == ops.SweepExtend && r.Trials < 1:
		return "", config.Usagef("%d further trials: at least 1", r.Trials)
	case r.Act == ops.SweepExtend && led != nil:
		return "", config.Usagef("sweep %s is under way: stop it, and extend it then", f.Name)
	case r.Act == ops.SweepExtend:
		return fmt.Sprintf("sweep %s goes on with %d more trials\n", f.Name, r.Trials), m.again(f, state.Spec.Trials+r.Trials)
	case state.Done:
		return "", config.Usagef("sweep %s is done", f.Name)
	case r.Act == ops.SweepResume && led == nil:
		return fmt.Sprintf("sweep %s goes on\n", f.Name), m.again(f, 0)
	case led == nil:
		return "", config.Usagef("sweep %s is not under way", f.Name)
	}
	order := map[ops.SweepAct]sweep.Order{
		ops.SweepStop: sweep.Halt, ops.SweepPause: sweep.Pause,
		ops.SweepResume: sweep.Proceed,
	}[r.Act]
	if err := f.SetOrder(order); err != nil {
		return "", err
	}
	if order == sweep.Halt {
		<-led.end
	} else if err := led.obeyed(f, order); err != nil {
		return "", err
	}
	return fmt.Sprintf("sweep %s: %s\n", f.Name, order), nil
}

// obeyed waits until the journal has an order, or the sweep has ended: who asks for the sweep next then sees it.
func (l *ledSweep) obeyed(f Folder, order sweep.Order) error {
	for {
		if state, err := f.State(); err != nil || state.Order == order {
			return err
		}
		select {
		case <-l.end:
			return nil
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// source is what a spec needs besides its text, so that a sweep can go on from its folder alone.
type source struct {
	Folder      string            `json:"folder,omitempty"` // that paths of the spec are relative to
	Environment []string          `json:"environment,omitempty"`
	Files       map[string]string `json:"files,omitempty"`
}

const sourceFile = "source.json"

// begin makes the folder, and forgets an order to stop.
func (f Folder) begin() error {
	if err := os.MkdirAll(f.Path(), 0o755); err != nil {
		return fmt.Errorf("make the folder of the sweep: %w", err)
	}
	return f.SetOrder(sweep.Proceed)
}

// remember keeps what the spec needs.
func (f Folder) remember(s source) error {
	if err := os.MkdirAll(f.Path(), 0o755); err != nil {
		return fmt.Errorf("make the folder of the sweep: %w", err)
	}
	slices.Sort(s.Environment)
	return f.write(sourceFile, func(w io.Writer) error { return encode(w, s) })
}

// Again is Prepare for a sweep from its folder.
func Again(r Request) (j *Job, err error) {
	text, err := os.ReadFile(r.Folder.Path(SpecFile))
	if err != nil {
		return nil, fmt.Errorf("%w: read the spec of the sweep: %w", store.ErrDamaged, err)
	}
	var s source
	if err := decodeFile(r.Folder.Path(sourceFile), &s); err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	r.Text, r.Environment = text, s.Environment
	r.Path = filepath.Join(s.Folder, SpecFile)
	defer func() {
		if j != nil {
			j.source = s
		}
	}()
	if s.Files != nil {
		r.Read = func(path string) ([]byte, error) {
			text, ok := s.Files[filepath.Base(path)]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		}
	}
	return Prepare(r)
}
