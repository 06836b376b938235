package serving

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/trained"
)

// Service answers requests for one run. It is the shell of a machine: it computes what the machine hands out, a
// batch of filter steps in one goroutine and forecasts in others, so that no forecast keeps a filter waiting.
//
// The lock mu guards the machine and what stands below it. It is not held while the model computes: a request that
// is marked as running belongs to the goroutine that computes it until that reports. Filter, Forecast, Save, Restore
// and Forget may be called from any goroutine; they wait for the answer, for the end of their context, or for
// Limits.Deadline.
type Service struct {
	model   computer
	about   Description
	limits  Limits
	sizes   sizes
	log     hclog.Logger
	metrics Metrics

	pressure pressure

	mu        sync.Mutex
	changed   sync.Cond // of the machine, or that the service closes
	machine   *machine
	reading   int   // requests over HTTP whose body is read, or that are answered
	readBytes int64 // that they may become
	closing   bool
	beats     uint64                 // rounds of the goroutine that filters
	asked     bool                   // somebody waits for the next one
	running   map[*request]time.Time // when each forecast under computation began

	done chan struct{} // closed when nothing is computed any more
}

// New returns a service for a run, which must not be used for anything else until Work ends. Requests are answered
// while Work runs. A limit that is 0 is that of DefaultLimits; a nil logger logs nothing.
func New(run *trained.Run, limits Limits, log hclog.Logger) (*Service, error) {
	model, z, err := newComputer(run)
	if err != nil {
		return nil, err
	}
	return newService(model, z, describe(run, model, z, limits.filled()), limits, log), nil
}

// newService is New for any computer, as for one of a test.
func newService(model computer, z sizes, about Description, limits Limits, log hclog.Logger) *Service {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	limits = limits.filled()
	s := &Service{
		model: model, about: about, limits: limits, sizes: z, log: log, machine: newMachine(limits, z),
		running: map[*request]time.Time{}, done: make(chan struct{}),
		pressure: pressure{few: int64(limits.Waiting), target: canaryTarget},
	}
	s.changed.L = &s.mu
	s.metrics.init()
	return s
}

// Work computes answers until the context ends; forecasts in as many goroutines as given. All requests that are under
// way then end with ErrClosed. It is called once, and returns when its goroutines have ended.
func (s *Service) Work(ctx context.Context, forecasters int) {
	defer close(s.done)
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closing = true
		s.changed.Broadcast()
	})
	defer stop()
	var loops sync.WaitGroup
	loops.Go(s.filter)
	for range max(1, forecasters) {
		loops.Go(func() { s.forecast(ctx) })
	}
	loops.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machine.close()
	s.deliver()
}

// do hands a request to the machine and waits for its end. If ctx ends before, or the deadline, the request is taken
// back and the error is ErrGone. Refusals are counted.
func (s *Service) do(ctx context.Context, r *request) (err error) {
	defer func() {
		if errors.Is(err, ErrBusy) || errors.Is(err, ErrTooLarge) {
			s.metrics.refused.Add(1)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, s.limits.Deadline)
	defer cancel()
	r.ctx, r.done = ctx, make(chan struct{})
	s.mu.Lock()
	err = s.machine.arrive(time.Now(), r)
	s.deliver()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if !r.over { // else it ended at the same time
			s.machine.cancel(time.Now(), r)
			s.deliver()
			return ErrGone
		}
		return r.err
	}
}

// deliver ends what the machine has ended, and wakes who computes. The lock is held.
func (s *Service) deliver() {
	for _, r := range s.machine.take() {
		close(r.done)
	}
	s.metrics.clients.Store(int64(len(s.machine.clients)))
	s.metrics.bytes.Store(s.machine.bytes)
	s.metrics.under.Store(int64(s.machine.under))
	s.changed.Broadcast()
}

// filter computes filter steps until the service closes. It is the one goroutine that calls step of the model.
// Healthy asks for a round, which may be one without work.
func (s *Service) filter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for !s.closing && !s.asked && len(s.machine.turn) == 0 {
			s.changed.Wait()
		}
		if s.closing {
			return
		}
		s.beats++
		s.asked = false
		batch := s.machine.batch(time.Now())
		s.deliver()
		if len(batch) == 0 {
			continue
		}
		s.mu.Unlock()
		began := time.Now()
		errs := s.step(batch)
		s.metrics.observe(time.Since(began))
		s.mu.Lock()
		for i, r := range batch {
			if errs[i] == nil {
				s.metrics.steps.Add(1)
			}
			s.machine.stepped(time.Now(), r, errs[i])
		}
		s.deliver()
	}
}

// forecast computes forecasts until the service closes; the context ends then. Several goroutines run it; each
// computes one forecast at a time.
func (s *Service) forecast(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for !s.closing && len(s.machine.forecasts) == 0 {
			s.changed.Wait()
		}
		if s.closing {
			return
		}
		r := s.machine.next(time.Now())
		s.deliver()
		if r == nil {
			continue
		}
		s.running[r] = time.Now()
		s.mu.Unlock()
		err := s.predict(ctx, r)
		s.mu.Lock()
		delete(s.running, r)
		s.machine.forecasted(r, err)
		s.deliver()
	}
}

// step filters the next observation of each of several requests and returns an error for each. What one request causes
// is its own: where a batch fails, each of its requests is computed alone. The lock is not held.
func (s *Service) step(batch []*request) []error {
	errs := make([]error, len(batch))
	// The usual case: all succeed together.
	err := s.attempt(batch)
	if err == nil {
		return errs
	}
	if len(batch) == 1 {
		errs[0] = err
		return errs
	}
	for i := range batch {
		errs[i] = s.attempt(batch[i : i+1])
	}
	return errs
}

// attempt filters the next observation of each of several requests, or changes nothing. The states are copies until
// the model has succeeded with all of them.
func (s *Service) attempt(batch []*request) (err error) {
	defer s.recovered(&err)
	states, next := make([]*trained.State, len(batch)), make([]trained.Observation, len(batch))
	pasts := make([]trained.Series, len(batch))
	for i, r := range batch {
		state := r.working.state.Clone()
		states[i], next[i], pasts[i] = &state, r.filter.at(r.at), r.working.history
		if state.Steps == 0 {
			if err := s.model.begin(&state, r.filter.all()); err != nil {
				return err
			}
		}
	}
	if err := s.model.step(states, pasts, next); err != nil {
		if r := batch[0]; len(batch) == 1 && len(r.filter.Observations) > 1 {
			return fmt.Errorf("observation %d of %d: %w", r.at+1, len(r.filter.Observations), err)
		}
		return err
	}
	for i, r := range batch {
		s.machine.enter(r, *states[i], next[i])
	}
	return nil
}

// predict computes a forecast, until whoever asked for it has gone or the service closes. The lock is not held.
func (s *Service) predict(closing context.Context, r *request) (err error) {
	defer s.recovered(&err)
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	defer context.AfterFunc(closing, cancel)()
	y, err := s.model.forecast(ctx, r.series, r.forecast)
	switch {
	case closing.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return ErrGone
	case err != nil:
		return err
	}
	r.future = y
	s.metrics.forecasts.Add(1)
	return nil
}

// recovered turns a panic of the model into the error of the request that it computes. It is deferred. The stack is
// in the log alone.
func (s *Service) recovered(err *error) {
	if p := recover(); p != nil {
		s.log.Error("the model failed on a request", "panic", p, "stack", string(debug.Stack()))
		*err = ErrFailed
	}
}

// patience is how long a goroutine of the service may take beyond what it should.
const patience = 2 * time.Second

// Healthy returns nil if the goroutines of the service answer: the one that filters begins another round, and no
// forecast goes on for long after its deadline.
func (s *Service) Healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, began := range s.running {
		if since := time.Since(began); since > s.limits.Deadline+patience {
			return fmt.Errorf("a forecast has been computed for %v, its deadline is %v", since.Round(time.Second),
				s.limits.Deadline)
		}
	}
	// A condition knows no context: its end has to wake who waits.
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	begun := s.beats
	s.asked = true
	s.changed.Broadcast()
	for s.beats == begun && !s.closing {
		if ctx.Err() != nil {
			return fmt.Errorf("a filter step has been computed for more than %v", patience)
		}
		s.changed.Wait()
	}
	if s.closing {
		return ErrClosed
	}
	return nil
}

// Ready returns nil if a request would be taken now. It is ErrBusy if there is no room, which passes.
func (s *Service) Ready(ctx context.Context) error {
	if err := s.Healthy(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.machine; m.under >= m.limits.Waiting || m.bytes >= m.limits.Memory {
		return ErrBusy
	}
	return nil
}

// Filter filters the next observations of a client: all of them, or none if there is an error. Requests of one
// client take effect in the order of their arrival.
func (s *Service) Filter(ctx context.Context, q FilterRequest) (FilterAnswer, error) {
	if err := s.limits.checkFilter(s.sizes, &q); err != nil {
		return FilterAnswer{}, err
	}
	r := &request{client: q.Client, filter: &q}
	if err := s.do(ctx, r); err != nil {
		return FilterAnswer{}, err
	}
	return r.filtered, nil
}

// Forecast predicts what follows the observations of a client, as it has sent them until its request, or those of
// the request.
func (s *Service) Forecast(ctx context.Context, q ForecastRequest) (ForecastAnswer, error) {
	if err := s.limits.checkForecast(s.sizes, &q); err != nil {
		return ForecastAnswer{}, err
	}
	r := &request{client: q.Client, forecast: &q, series: q.series(s.limits.History)}
	if err := s.do(ctx, r); err != nil {
		return ForecastAnswer{}, err
	}
	return r.future, nil
}

// Forget drops the state of a client. It returns ErrRequest if there is none.
func (s *Service) Forget(ctx context.Context, client string) error {
	if client == "" {
		return wrong("client is missing: give the name of the client to forget")
	}
	return s.do(ctx, &request{client: client, forget: true})
}
