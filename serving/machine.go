package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/trained"
)

// request is a question of a client on its way through the machine. One of filter, forecast, forget, save and restore
// says what is asked.
type request struct {
	client   string // whose line it stands in; empty: in none
	filter   *FilterRequest
	forecast *ForecastRequest
	forget   bool
	save     bool
	restore  *ClientState

	bytes, work int64          // taken from the budgets until it ends
	working     *client        // of a filter whose turn has come: what its client becomes if all of it succeeds
	at          int            // observations of a filter that are done
	series      trained.Series // of a forecast whose turn has come: what its client had sent until then
	gone        bool           // its client waits no longer: it must not take effect
	running     bool           // the shell computes it
	over        bool           // it has ended

	filtered FilterAnswer
	future   ForecastAnswer
	saved    *ClientState
	err      error
	ctx      context.Context // of the shell: a forecast is computed under it
	done     chan struct{}   // of the shell: closed at the end
}

// client is what is held of one client. A filter works on a copy, which shares the rows of the history.
type client struct {
	state   trained.State
	history trained.Series // the last observations; rows are never changed
	used    time.Time
	steps   int // observations that were filtered since the client began
}

// machine decides which request is computed when. It holds the states of the clients and the budgets. It knows no
// model, no clock but the times that it is told, and no goroutine: the shell (Service) calls it under a lock, computes
// what it hands out and reports the results.
//
// Invariants:
//   - The requests of a client take effect in the order of their arrival: only the first of its line changes or reads
//     its state. A forecast leaves the line once it has the client's history.
//   - clients changes only when a whole request succeeds. Until then a filter works on a copy.
//   - bytes is what the clients hold and the requests under way take; work is that of the forecasts under way. The end
//     of a request gives back exactly what its arrival took.
type machine struct {
	limits Limits
	sizes  sizes

	clients   map[string]*client
	lines     map[string][]*request // of a client: its requests under way in the order of arrival; never empty
	turn      []*request            // filters with observations left, none of which is running; the next first
	forecasts []*request            // whose turn has come, none of which is running
	under     int                   // requests under way
	bytes     int64
	work      int64
	closed    bool
	ended     []*request // since the shell last asked
}

// newMachine returns a machine without clients and requests.
func newMachine(l Limits, z sizes) *machine {
	return &machine{limits: l, sizes: z, clients: map[string]*client{}, lines: map[string][]*request{}}
}

// queued is how many times the work of the largest forecast may wait or be computed.
const queued = 4

// arrive takes a request, or returns why it is refused; then nothing has changed. A forecast from observations of
// its own stands in no line.
func (m *machine) arrive(now time.Time, r *request) error {
	bytes, work := m.sizes.cost(r)
	switch {
	case m.closed:
		return ErrClosed
	case m.under >= m.limits.Waiting:
		return fmt.Errorf("%w: %d requests are already in progress", ErrBusy, m.under)
	case bytes > m.limits.Memory/8:
		return fmt.Errorf("%w: it needs %d MiB, at most %d are given to one request; send less at a time, or ask for fewer "+
			"paths or steps", ErrTooLarge, bytes>>20, m.limits.Memory>>23)
	case m.bytes+bytes > m.limits.Memory:
		return fmt.Errorf("%w: states and requests take %d MiB of %d", ErrBusy, m.bytes>>20, m.limits.Memory>>20)
	case m.work+work > queued*m.limits.Work:
		return fmt.Errorf("%w: too many forecasts are in progress", ErrBusy)
	}
	r.bytes, r.work = bytes, work
	m.under++
	m.bytes += bytes
	m.work += work
	if r.client == "" {
		m.forecasts = append(m.forecasts, r)
		return nil
	}
	m.lines[r.client] = append(m.lines[r.client], r)
	if len(m.lines[r.client]) == 1 {
		m.advance(now, r.client)
	}
	return nil
}

// advance begins the requests at the head of a line until one needs the model, or the line is empty. A filter stays
// at the head of the line until all its observations are done; a forecast leaves it at once, so what follows it need
// not wait.
func (m *machine) advance(now time.Time, name string) {
	for len(m.lines[name]) > 0 {
		r := m.lines[name][0]
		c := m.clients[name]
		if c != nil {
			c.used = now
		}
		switch {
		case r.filter != nil:
			err := m.begin(now, r, c)
			if err == nil {
				m.turn = append(m.turn, r)
				return
			}
			m.end(r, err)
		case r.forecast != nil:
			if c == nil || len(c.history.Observations) == 0 {
				m.end(r, wrong("client %q has sent no observations", name))
				continue
			}
			r.series = last(c.history, m.limits.History).ScaledAs(&c.state)
			m.leave(r)
			m.forecasts = append(m.forecasts, r)
		case r.restore != nil:
			m.end(r, m.install(now, name, r.restore.client(m.limits.History)))
		case c == nil:
			m.end(r, wrong("there is no client %q", name))
		case r.save:
			r.saved = c.saved(name)
			m.end(r, nil)
		default: // forget
			m.drop(name)
			m.end(r, nil)
		}
	}
}

// begin makes the copy that a filter works on. A client that is new, or begins anew, has an empty one. Room for a
// new client is looked for before anything is computed for it.
func (m *machine) begin(now time.Time, r *request, c *client) error {
	if c == nil {
		if err := m.room(now, m.sizes.held(0)); err != nil {
			return err
		}
	}
	r.working = &client{state: trained.State{Of: r.client}, history: trained.Series{Of: r.client}}
	if c != nil && !r.filter.Restart {
		*r.working = *c
	}
	r.working.used = now
	return nil
}

// room makes room for one client more of so many bytes, or returns why there is none.
func (m *machine) room(now time.Time, bytes int64) error {
	for len(m.clients) >= m.limits.Clients || m.bytes+bytes > m.limits.Memory {
		if !m.evict(now) {
			return fmt.Errorf("%w: %d clients are in use, with %d MiB", ErrBusy, len(m.clients), m.bytes>>20)
		}
	}
	return nil
}

// evict drops the client that was not used for longest, if that is long enough ago and none of its requests is under
// way. It reports whether there was one.
func (m *machine) evict(now time.Time) bool {
	oldest, name := now.Add(-m.limits.Idle), ""
	for n, c := range m.clients {
		// The name decides between clients of the same age, so that the same arrivals drop the same clients.
		if older := c.used.Before(oldest) || c.used.Equal(oldest) && n < name; older && len(m.lines[n]) == 0 {
			oldest, name = c.used, n
		}
	}
	m.drop(name)
	return name != ""
}

// drop forgets a client, if it is there.
func (m *machine) drop(name string) {
	if c := m.clients[name]; c != nil {
		m.bytes -= m.sizes.held(len(c.history.Observations))
		delete(m.clients, name)
	}
}

// install puts a client in the place of what was held under its name. If there is no room, the old one stays.
func (m *machine) install(now time.Time, name string, c *client) error {
	old := m.clients[name]
	m.drop(name)
	held := m.sizes.held(len(c.history.Observations))
	if err := m.room(now, held); err != nil {
		if old != nil {
			m.clients[name] = old
			m.bytes += m.sizes.held(len(old.history.Observations))
		}
		return err
	}
	c.used = now
	m.clients[name] = c
	m.bytes += held
	return nil
}

// batch takes the filters whose next observation is computed now, one of a client: what the shell does for them it
// reports by stepped. A request whose client has gone is ended on the way.
func (m *machine) batch(now time.Time) []*request {
	var out []*request
	for len(m.turn) > 0 && len(out) < m.limits.Batch {
		r := m.turn[0]
		m.turn = m.turn[1:]
		if r.gone {
			m.finish(now, r, ErrGone)
			continue
		}
		r.running = true
		out = append(out, r)
	}
	return out
}

// stepped reports an observation of a filter: its working copy has it, or err says why not. After the last
// observation the copy takes the place of what was held.
func (m *machine) stepped(now time.Time, r *request, err error) {
	r.running = false
	switch {
	case err != nil:
		m.finish(now, r, err)
	case r.gone:
		m.finish(now, r, ErrGone)
	case r.at < len(r.filter.Observations):
		m.turn = append(m.turn, r)
	default:
		m.finish(now, r, m.install(now, r.client, r.working))
	}
}

// next takes the forecast that is computed next, nil for none. What becomes of it the shell reports by forecasted.
func (m *machine) next(now time.Time) *request {
	for len(m.forecasts) > 0 {
		r := m.forecasts[0]
		m.forecasts = m.forecasts[1:]
		if !r.gone {
			r.running = true
			return r
		}
		m.end(r, ErrGone)
	}
	return nil
}

// forecasted reports the end of a forecast.
func (m *machine) forecasted(r *request, err error) {
	r.running = false
	m.end(r, err)
}

// cancel ends a request whose asker has gone: at once if the shell does not compute it, else when it next reports.
// Nothing of it takes effect.
func (m *machine) cancel(now time.Time, r *request) {
	r.gone = true
	if r.running || r.over {
		return
	}
	if line := m.lines[r.client]; r.client != "" && len(line) > 0 && line[0] == r && r.filter != nil {
		m.turn = without(m.turn, r)
		m.finish(now, r, ErrGone)
		return
	}
	m.forecasts = without(m.forecasts, r)
	m.end(r, ErrGone)
}

// finish ends the request at the head of a line and begins what follows it.
func (m *machine) finish(now time.Time, r *request, err error) {
	m.end(r, err)
	m.advance(now, r.client)
}

// leave takes a request out of its line. The head of the line may change by it; the caller begins what follows.
func (m *machine) leave(r *request) {
	line := without(m.lines[r.client], r)
	if m.lines[r.client] = line; len(line) == 0 {
		delete(m.lines, r.client)
	}
}

// end gives back what a request took. It is called once for each.
func (m *machine) end(r *request, err error) {
	m.leave(r)
	m.under--
	m.bytes -= r.bytes
	m.work -= r.work
	r.over, r.working, r.err = true, nil, err
	m.ended = append(m.ended, r)
}

// take returns the requests that ended since the last call.
func (m *machine) take() []*request {
	out := m.ended
	m.ended = nil
	return out
}

// close ends what is under way and refuses what comes later. Nothing is running any more. Requests that wait, in
// lines or as forecasts, end with ErrClosed.
func (m *machine) close() {
	m.closed = true
	left := m.forecasts
	for _, line := range m.lines {
		left = append(left, line...)
	}
	for _, r := range left {
		m.end(r, ErrClosed)
	}
	m.turn, m.forecasts = nil, nil
}

// enter writes what a step found for the next observation of a filter to its working copy and to its answer, and keeps
// the observation for forecasts. The rows of the history are shared with forecasts under way and with the state that
// the working copy is to replace; only what lies behind their ends is written.
func (m *machine) enter(r *request, state trained.State, o trained.Observation) {
	c := r.working
	c.state = state
	c.steps++
	c.history.Observations = append(c.history.Observations, o.Values)
	if m.sizes.nu > 0 {
		c.history.Controls = append(c.history.Controls, controlsOf(o, m.sizes.nu))
	}
	c.history = trimmed(c.history, m.limits.History)
	r.at++
	y := &r.filtered
	y.Client, y.Steps = r.client, c.steps
	y.Mean = append(y.Mean, eval.NumberList(state.Mean))
	y.SD = append(y.SD, eval.NumberList(state.SD))
	y.Weights = append(y.Weights, eval.NumberList(state.Weights))
	if state.Expected != nil {
		y.Expected = append(y.Expected, eval.NumberList(state.Expected))
		y.Noise = append(y.Noise, eval.NumberList(state.Noise))
	}
}

// trimmed is a history with its last n observations alone once it has more than twice as many: it copies, so that the
// others are freed.
func trimmed(s trained.Series, n int) trained.Series {
	if len(s.Observations) > 2*n {
		s = last(s, n)
		s.Observations, s.Controls = slices.Clone(s.Observations), slices.Clone(s.Controls)
	}
	return s
}

// controlsOf are those of an observation; zeros where there are none.
func controlsOf(o trained.Observation, nu int) []float64 {
	if o.Controls == nil {
		return make([]float64, nu)
	}
	return o.Controls
}

// without is a list without one of its members, in its order.
func without(list []*request, r *request) []*request {
	for i, x := range list {
		if x == r {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}

// Errors of requests. Status has the status of HTTP for each. After any of them the client's state is what it was
// before.
var (
	ErrRequest  = errors.New("serving: the request is wrong")
	ErrTooLarge = errors.New("serving: the request is too large")
	ErrBusy     = errors.New("serving: too many clients or requests")
	ErrClosed   = errors.New("serving: the service is closing")
	ErrGone     = errors.New("serving: the request was cancelled, or waited longer than its deadline; it changed nothing")
	ErrFailed   = errors.New("serving: the model failed on this request; it changed nothing")
	ErrState    = errors.New("serving: the state is not one of this model")
)
