package web

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/switchyard-ml/switchyard/store"
)

// measures describe the metrics for Prometheus. Metrics with the label run exist for every run that is under way, and
// for runs that this process has led. Names begin with switchyard_.
type measures struct {
	info, ready, runs                                 *prometheus.Desc
	running, step, steps, objective, loss, norm, rate *prometheus.Desc
	elbo, importance, share                           *prometheus.Desc
	seconds, workers, bytes, waiting, checkpoint      *prometheus.Desc
	issued, useful, undone, speculations, audits      *prometheus.Desc
	disputes, rollbacks, quarantined, rejections      *prometheus.Desc

	regimes map[string]*prometheus.Desc // what a record says of them, by its name there
}

// newMeasures describes all metrics, with the text that Prometheus shows.
func newMeasures() *measures {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("switchyard_"+name, help, labels, nil)
	}
	return &measures{
		info:      desc("info", "Version of the program; always 1.", "version"),
		ready:     desc("ready", "1 while the broker is connected."),
		runs:      desc("runs", "Runs by state.", "state"),
		running:   desc("running", "1 while the run is running.", "run"),
		step:      desc("step", "Updates of the parameters done.", "run"),
		steps:     desc("steps", "Updates of the parameters that the run is to do.", "run"),
		objective: desc("objective", "Latest value of what training maximises: minus the loss.", "run", "split"),
		elbo: desc("elbo", "Evidence lower bound of the latest validation, in nats: every divergence with weight "+
			"1, schedules at their end.", "run"),
		importance:   desc("importance_elbo", "Importance-weighted bound of the latest validation, in nats.", "run"),
		loss:         desc("loss", "Latest loss and its terms, in nats if the model has a density.", "run", "split", "term"),
		share:        desc("regime_share", "Latest share of the time in which a regime is used.", "run", "split", "regime"),
		regimes:      newRegimes(desc),
		norm:         desc("gradient_norm", "Norm of the latest gradient before clipping.", "run"),
		rate:         desc("learning_rate", "Latest learning rate.", "run"),
		seconds:      desc("step_seconds", "Durations of steps.", "run"),
		workers:      desc("workers", "Workers of the run by state.", "run", "state"),
		bytes:        desc("bytes_total", "Bytes of gradients in, of parameters and leases out.", "run", "dir"),
		waiting:      desc("waiting", "1 while the run waits, e.g. for a worker.", "run"),
		checkpoint:   desc("checkpoint_age_seconds", "Time since the latest checkpoint was on disk.", "run"),
		issued:       desc("shards_issued_total", "Shards leased to workers, repetitions included.", "run"),
		useful:       desc("shards_useful_total", "Shards whose gradients entered a step.", "run"),
		undone:       desc("shards_undone_total", "Of these, shards that were computed once more.", "run"),
		speculations: desc("speculations_total", "Leases issued a second time because a worker was slow.", "run"),
		audits:       desc("audits_total", "Blocks computed a second time as a check.", "run"),
		disputes:     desc("disputes_total", "Blocks of which two workers sent different bits.", "run"),
		rollbacks:    desc("rollbacks_total", "Times that the run went back because a worker had sent wrong bits.", "run"),
		quarantined:  desc("quarantined_total", "Workers cut off because their bits differed.", "run"),
		rejections:   desc("rejections_total", "Refused messages by reason.", "run", "reason"),
	}
}

// newRegimes describes what a model with regimes reports.
func newRegimes(desc func(name, help string, labels ...string) *prometheus.Desc) map[string]*prometheus.Desc {
	return map[string]*prometheus.Desc{
		"regimes_in_use": desc("regimes_in_use", "Regimes in use: the perplexity of their latest shares.", "run", "split"),
		"regime_information": desc("regime_information", "Latest information of the regime about the step, in nats.",
			"run", "split"),
		"regime_entropy": desc("regime_entropy", "Latest mean entropy of the regimes of a step, in nats.", "run", "split"),
		"switching":      desc("regime_switching", "Latest share of the steps at which the regime changes.", "run", "split"),
	}
}

// collector reads all values when Prometheus asks. They are those of the followers of the runs, and of their
// coordinators.
type collector struct {
	*measures
	server *Server
}

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.info, c.ready, c.runs, c.running, c.step, c.steps, c.objective, c.elbo, c.importance, c.loss, c.norm, c.rate,
		c.seconds, c.workers, c.bytes,
		c.waiting, c.checkpoint, c.issued, c.useful, c.undone, c.speculations, c.audits, c.disputes, c.rollbacks,
		c.quarantined, c.rejections, c.share,
	} {
		out <- d
	}
	for _, d := range c.regimes {
		out <- d
	}
}

// Collect implements prometheus.Collector. If the runs cannot be listed, the metrics of runs are an error and the
// others are there.
func (c collector) Collect(out chan<- prometheus.Metric) {
	s := sink{out}
	s.gauge(c.info, 1, c.server.config.Version)
	s.gauge(c.ready, truth(c.server.config.Source.Ready() == nil))
	list, err := c.server.config.Source.Runs()
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.runs, err)
		return
	}
	c.server.forget(list)
	states := map[store.State]int{
		store.Running: 0, store.Finished: 0, store.Interrupted: 0, store.Failed: 0,
		store.Lost: 0,
	}
	for _, run := range list {
		states[run.State]++
		if run.State == store.Running || run.Live != nil {
			c.run(s, run)
		}
	}
	for state, n := range states {
		s.gauge(c.runs, float64(n), string(state))
	}
}

// run sends the metrics of one run.
func (c collector) run(s sink, run Run) {
	sum := c.server.summarize(run)
	s.gauge(c.running, truth(run.State == store.Running), run.Name)
	s.gauge(c.step, float64(sum.Step), run.Name)
	s.gauge(c.steps, float64(run.Steps), run.Name)
	if f, err := c.server.follow(run); err == nil {
		c.recorded(s, run, f)
	}
	if run.Live != nil {
		c.live(s, run.Name, run.Live)
	}
}

// system are the metrics of a record that are about the training, and no terms of the loss.
var system = map[string]bool{
	"objective": true, "elbo": true, "importance_elbo": true, "gradient_norm": true, "learning_rate": true,
	"step_seconds": true, "compute_seconds": true, "workers": true, "bytes_in": true, "bytes_out": true,
	"bytes_per_worker": true,
}

// recorded sends the recorded metrics of a run.
func (c collector) recorded(s sink, run Run, f *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range []store.Record{f.train, f.check} {
		for name, v := range r.Values {
			c.value(s, run.Name, r.Split, name, v)
		}
	}
	if norm, ok := f.train.Values["gradient_norm"]; ok {
		s.gauge(c.norm, norm, run.Name)
		s.gauge(c.rate, f.train.Values["learning_rate"], run.Name)
	}
	s.out <- prometheus.MustNewConstHistogram(c.seconds, f.seconds.count, f.seconds.sum, f.seconds.cumulative(), run.Name)
	s.counter(c.bytes, f.in, run.Name, "in")
	s.counter(c.bytes, f.out, run.Name, "out")
	if run.Live == nil {
		s.gauge(c.workers, f.train.Values["workers"], run.Name, "working")
	}
}

// value sends one value of the latest record of a split. What is no term of the loss is told apart by name.
func (c collector) value(s sink, run, split, name string, v float64) {
	regime, shared := strings.CutPrefix(name, "share_")
	switch {
	case name == "objective":
		s.gauge(c.objective, v, run, split)
	case name == "elbo":
		s.gauge(c.elbo, v, run)
	case name == "importance_elbo":
		s.gauge(c.importance, v, run)
	case shared:
		s.gauge(c.share, v, run, split, regime)
	case c.regimes[name] != nil:
		s.gauge(c.regimes[name], v, run, split)
	case !system[name]:
		s.gauge(c.loss, v, run, split, name)
	}
}

// live sends the metrics that only the process that leads a run knows. Counters begin with the process, as
// Prometheus expects.
func (c collector) live(s sink, run string, l *Live) {
	states := map[string]int{"preparing": 0, "idle": 0, "computing": 0}
	for _, w := range l.Workers {
		states[w.State]++
	}
	for state, n := range states {
		s.gauge(c.workers, float64(n), run, state)
	}
	s.gauge(c.waiting, truth(l.Waiting != ""), run)
	if !l.Checkpointed.IsZero() {
		s.gauge(c.checkpoint, math.Max(0, time.Since(l.Checkpointed).Seconds()), run)
	}
	s.counter(c.issued, float64(l.ShardsIssued), run)
	s.counter(c.useful, float64(l.ShardsUseful+l.ShardsUndone), run) // a counter never falls
	s.counter(c.undone, float64(l.ShardsUndone), run)
	s.counter(c.speculations, float64(l.Speculations), run)
	s.counter(c.audits, float64(l.Audits), run)
	s.counter(c.disputes, float64(l.Disputes), run)
	s.counter(c.rollbacks, float64(l.Rollbacks), run)
	s.counter(c.quarantined, float64(l.CutOff), run)
	for reason, n := range l.Rejections {
		s.counter(c.rejections, float64(n), run, reason)
	}
}

// sink sends metrics to a channel. One whose labels are no text, as a damaged file may name it, is an error of its own.
type sink struct{ out chan<- prometheus.Metric }

// send sends a value, or why there is none.
func (s sink) send(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
	m, err := prometheus.NewConstMetric(d, kind, v, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	s.out <- m
}

// gauge sends a value that may rise and fall.
func (s sink) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s.send(d, prometheus.GaugeValue, v, labels...)
}

// counter sends a value that rises until the process ends.
func (s sink) counter(d *prometheus.Desc, v float64, labels ...string) {
	s.send(d, prometheus.CounterValue, v, labels...)
}

// truth is 1 for yes and 0 for no.
func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// registry contains the metrics of this server and of its process, and no others. Each server has its own, so that
// several may be in one process.
func (s *Server) registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collector{newMeasures(), s},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return r
}

// prometheus answers with the metrics in the format of Prometheus, to few clients at a time. One that cannot be
// collected is left out.
func (s *Server) prometheus() http.Handler {
	return promhttp.HandlerFor(s.registry(), promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: maxReads, ErrorLog: promLog{s},
	})
}

// promLog logs errors of the collection of metrics.
type promLog struct{ server *Server }

// Println implements promhttp.Logger.
func (l promLog) Println(v ...any) { l.server.log.Warn("metrics cannot be collected", "err", v) }
