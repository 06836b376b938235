package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/internal/number"
	"github.com/switchyard-ml/switchyard/trained"
)

// Errors of requests.
var (
	ErrRequest = errors.New("serving: the request is wrong")
	ErrBusy    = errors.New("serving: too many clients or requests")
	ErrClosed  = errors.New("serving: the service is closing")
)

// Limits bound what clients can cause.
type Limits struct {
	Clients      int           // states that are held; the longest unused one makes room after Idle
	Idle         time.Duration // after which an unused state may be dropped
	Observations int           // of one request
	Horizon      int           // steps of a forecast
	History      int           // last observations of a client that a forecast is made from
	Waiting      int           // requests that wait
	Batch        int           // observations that are filtered together
	Bytes        int64         // of one request
}

// DefaultLimits suit a machine of a few cores.
func DefaultLimits() Limits {
	return Limits{
		Clients: 10_000, Idle: 10 * time.Minute, Observations: 10_000, Horizon: 10_000, History: 256,
		Waiting: 1024, Batch: 64, Bytes: 8 << 20,
	}
}

// Service answers requests for one run.
type Service struct {
	run     *trained.Run
	online  *trained.Online // nil: the family filters whole series only
	limits  Limits
	nx, nu  int
	queue   chan *job
	done    chan struct{}
	metrics Metrics

	clients map[string]*client // of the worker
}

// client is the state of one client.
type client struct {
	state   trained.State
	history trained.Series
	used    time.Time
	steps   int
}

// job is a request on its way.
type job struct {
	filter   *FilterRequest
	forecast *ForecastRequest
	forget   string

	client *client // of the filter: its own, even if the name is another's meanwhile, or nobody's
	at     int     // observations done
	answer FilterAnswer
	future ForecastAnswer
	err    error
	done   chan struct{}
}

// New returns a service for a run, which must not be used for anything else. Close ends it.
func New(run *trained.Run, limits Limits) (*Service, error) {
	s := &Service{
		run: run, limits: limits, queue: make(chan *job, limits.Waiting), done: make(chan struct{}),
		clients: map[string]*client{},
	}
	var err error
	if s.nx, s.nu, err = run.Dims(); err != nil {
		return nil, err
	}
	if s.online, err = run.Online(); err != nil && !errors.Is(err, trained.ErrUnable) {
		return nil, err
	}
	s.metrics.init()
	return s, nil
}

// Work answers requests until the context ends.
func (s *Service) Work(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-s.queue:
			s.serve(s.gather(first))
		}
	}
}

// gather takes what waits.
func (s *Service) gather(first *job) []*job {
	jobs := []*job{first}
	for len(jobs) < s.limits.Batch {
		select {
		case j := <-s.queue:
			jobs = append(jobs, j)
		default:
			return jobs
		}
	}
	return jobs
}

// do hands a job to the worker and waits for its end.
func (s *Service) do(ctx context.Context, j *job) error {
	j.done = make(chan struct{})
	select {
	case s.queue <- j:
	default:
		s.metrics.refused.Add(1)
		return fmt.Errorf("%w: %d requests wait already", ErrBusy, s.limits.Waiting)
	}
	select {
	case <-j.done:
		return j.err
	case <-s.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve computes jobs: the next observation of every client that waits goes through the model together.
func (s *Service) serve(jobs []*job) {
	began := time.Now()
	var filters []*job
	for _, j := range jobs {
		switch {
		case j.filter != nil:
			if j.err = s.admit(j); j.err == nil {
				filters = append(filters, j)
				continue
			}
		case j.forecast != nil:
			j.err = s.predict(j)
		default:
			if _, ok := s.clients[j.forget]; !ok {
				j.err = fmt.Errorf("%w: there is no client %q", ErrRequest, j.forget)
			}
			delete(s.clients, j.forget)
		}
		close(j.done)
	}
	for len(filters) > 0 {
		filters = s.round(filters)
	}
	s.metrics.clients.Store(int64(len(s.clients)))
	s.metrics.observe(time.Since(began))
}

// round filters one observation of each job whose client has none in the round yet, and returns those with more to do,
// in the order that they have: a client's requests follow each other.
func (s *Service) round(jobs []*job) []*job {
	var states []*trained.State
	var next []trained.Observation
	var now []*job
	taken := map[*client]bool{}
	for _, j := range jobs {
		if taken[j.client] {
			continue
		}
		taken[j.client] = true
		now = append(now, j)
		states = append(states, &j.client.state)
		next = append(next, j.filter.at(j.at))
	}
	err := s.step(now, states, next)
	over := map[*job]bool{}
	for i, j := range now {
		if j.err = err; err == nil {
			s.enter(j, states[i], next[i])
		}
		if err != nil || j.at == len(j.filter.Observations) {
			over[j] = true
			close(j.done)
		}
	}
	s.metrics.steps.Add(int64(len(now)))
	return slices.DeleteFunc(jobs, func(j *job) bool { return over[j] })
}

// step filters an observation of each of several clients.
func (s *Service) step(jobs []*job, states []*trained.State, next []trained.Observation) error {
	if s.online != nil {
		return s.online.Step(states, next)
	}
	for i, j := range jobs { // the family filters whole series: the last ones of each client again
		series := j.client.history
		series.Observations = append(series.Observations[:len(series.Observations):len(series.Observations)], next[i].Values)
		if s.nu > 0 {
			series.Controls = append(series.Controls[:len(series.Controls):len(series.Controls)], controlsOf(next[i], s.nu))
		}
		f, err := s.run.Filter(series, 0)
		if err != nil {
			return err
		}
		last := len(f.Mean) - 1
		states[i].Mean, states[i].SD, states[i].Steps = f.Mean[last], f.SD[last], states[i].Steps+1
		if len(f.Weights) > 0 {
			states[i].Weights = f.Weights[last]
		}
	}
	return nil
}

// admit finds or makes the client of a job.
func (s *Service) admit(j *job) error {
	c, ok := s.clients[j.filter.Client]
	if !ok || j.filter.Restart {
		if !ok && len(s.clients) >= s.limits.Clients && !s.evict() {
			s.metrics.refused.Add(1)
			return fmt.Errorf("%w: %d clients are in use", ErrBusy, len(s.clients))
		}
		c = &client{}
		s.clients[j.filter.Client] = c
	}
	c.used, j.client = time.Now(), c
	return nil
}

// evict drops the client that was not used for longest, if that is long enough ago.
func (s *Service) evict() bool {
	oldest, name := time.Now().Add(-s.limits.Idle), ""
	for n, c := range s.clients {
		if c.used.Before(oldest) {
			oldest, name = c.used, n
		}
	}
	delete(s.clients, name)
	return name != ""
}

// enter writes what a step found, and keeps the observation for forecasts.
func (s *Service) enter(j *job, state *trained.State, o trained.Observation) {
	c := j.client
	c.steps++
	c.history.Observations = append(c.history.Observations, o.Values)
	if s.nu > 0 {
		c.history.Controls = append(c.history.Controls, controlsOf(o, s.nu))
	}
	if n := len(c.history.Observations); n > 2*s.limits.History { // cut seldom: it copies
		c.history.Observations = append([][]float64(nil), c.history.Observations[n-s.limits.History:]...)
		if s.nu > 0 {
			c.history.Controls = append([][]float64(nil), c.history.Controls[n-s.limits.History:]...)
		}
	}
	j.at++
	j.answer.Client, j.answer.Steps = j.filter.Client, c.steps
	j.answer.Mean = append(j.answer.Mean, number.List(state.Mean))
	j.answer.SD = append(j.answer.SD, number.List(state.SD))
	j.answer.Weights = append(j.answer.Weights, number.List(state.Weights))
	if state.Expected != nil {
		j.answer.Expected = append(j.answer.Expected, number.List(state.Expected))
		j.answer.Noise = append(j.answer.Noise, number.List(state.Noise))
	}
}

// predict forecasts from what a client has sent, or from the observations of the request.
func (s *Service) predict(j *job) error {
	q := j.forecast
	series := trained.Series{Observations: missing(q.Observations), Controls: q.PastControls}
	if q.Client != "" {
		c, ok := s.clients[q.Client]
		if !ok || len(c.history.Observations) == 0 {
			return fmt.Errorf("%w: client %q has sent no observations", ErrRequest, q.Client)
		}
		series = c.history
		c.used = time.Now()
	}
	if n := len(series.Observations); n > s.limits.History {
		series.Observations = series.Observations[n-s.limits.History:]
		if series.Controls != nil {
			series.Controls = series.Controls[n-s.limits.History:]
		}
	}
	f, err := s.run.Forecast(series, trained.Query{
		Horizon: q.Horizon, Controls: q.Controls, Samples: q.Samples,
		Seed: q.Seed,
	})
	if err != nil {
		return err
	}
	j.future.Mean = number.Table(f.Mean)
	j.future.Levels = q.Quantiles
	for _, level := range q.Quantiles {
		j.future.Quantiles = append(j.future.Quantiles, number.Table(f.Quantile(level)))
	}
	s.metrics.forecasts.Add(1)
	return nil
}

// Metrics count what a service does.
type Metrics struct {
	counters
	mu      sync.Mutex
	buckets []int64 // of the time of a batch, by bounds
	sum     float64
	count   int64
}

func (m *Metrics) init() { m.buckets = make([]int64, len(bounds)+1) }

func (m *Metrics) observe(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := 0
	for i < len(bounds) && d.Seconds() > bounds[i] {
		i++
	}
	m.buckets[i]++
	m.sum += d.Seconds()
	m.count++
}

// controlsOf are those of an observation; zeros where there are none.
func controlsOf(o trained.Observation, nu int) []float64 {
	if o.Controls == nil {
		return make([]float64, nu)
	}
	return o.Controls
}
