package serving

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// bounds are those of the histogram of times, in seconds. They range from a step of a small model to a batch of a
// large one.
var bounds = []float64{50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 100e-3, 1}

// counters are read and written without a lock. Those in the second line are no counts: they are the state of the
// machine after its last change.
type counters struct {
	steps, forecasts, refused, failed atomic.Int64
	clients, bytes, under             atomic.Int64
	late                              atomic.Int64 // of those refused
}

// Metrics count what a service does. All of it may be used by several goroutines.
type Metrics struct {
	counters
	mu      sync.Mutex // guards the histogram below
	buckets []int64    // of the time of a batch, by bounds
	sum     float64
	count   int64
}

// init makes an empty histogram, whose last bucket has what is above all bounds.
func (m *Metrics) init() { m.buckets = make([]int64, len(bounds)+1) }

// observe counts the time of a batch of filter steps.
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

// write writes the metrics in the text format of Prometheus. Errors of w are ignored: the client may have gone.
// Names begin with switchyard_model_.
func (m *Metrics) write(w io.Writer, l Limits) {
	one := func(name, kind, help string, v int64) {
		fmt.Fprintf(w, "# HELP switchyard_model_%s %s\n# TYPE switchyard_model_%s %s\nswitchyard_model_%s %d\n", name, help,
			name, kind, name, v)
	}
	one("filter_steps_total", "counter", "Observations that were filtered.", m.steps.Load())
	one("forecasts_total", "counter", "Forecasts that were made.", m.forecasts.Load())
	one("refused_total", "counter", "Requests that were refused because there was no room for them.",
		m.refused.Load())
	one("late_total", "counter", "Requests of these that were refused because requests waited for a core.", m.late.Load())
	one("failed_total", "counter", "Requests that were answered with an error.", m.failed.Load())
	one("clients", "gauge", "Clients whose state is held.", m.clients.Load())
	one("clients_limit", "gauge", "Clients whose state may be held.", int64(l.Clients))
	one("requests", "gauge", "Requests in progress.", m.under.Load())
	one("requests_limit", "gauge", "Most requests that may be in progress.", int64(l.Waiting))
	one("memory_bytes", "gauge", "Bytes of states and of requests in progress.", m.bytes.Load())
	one("memory_limit_bytes", "gauge", "Bytes that they may take.", l.Memory)
	one("work_limit", "gauge", "Largest forecast: horizon times paths times channels times (1 + quantiles).", l.Work)
	m.mu.Lock()
	defer m.mu.Unlock()
	const name = "switchyard_model_batch_seconds"
	fmt.Fprintf(w, "# HELP %s Time of the requests that were computed together.\n# TYPE %s histogram\n", name, name)
	total := int64(0)
	for i, n := range m.buckets {
		total += n
		bound := "+Inf"
		if i < len(bounds) {
			bound = fmt.Sprint(bounds[i])
		}
		fmt.Fprintf(w, "%s_bucket{le=%q} %d\n", name, bound, total)
	}
	fmt.Fprintf(w, "%s_sum %g\n%s_count %d\n", name, m.sum, name, m.count)
}
