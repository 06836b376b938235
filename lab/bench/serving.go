package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/serving"
	"github.com/switchyard-ml/switchyard/trained"
)

// ServingLoad is how a served model is put under load.
type ServingLoad struct {
	Clients   int // each sends an observation as soon as it has the answer to the last
	Forecasts int // clients that ask for large forecasts, one after the other
	Cores     int
	Duration  time.Duration
}

// Latency is how long answers took.
type Latency struct {
	Count   int     `json:"count"`
	P50     float64 `json:"p50_seconds"`
	P99     float64 `json:"p99_seconds"`
	P999    float64 `json:"p999_seconds"`
	Longest float64 `json:"longest_seconds"`
}

// latency sorts times, in seconds, and takes their quantiles; none has zeros.
func latency(times []float64) Latency {
	if len(times) == 0 {
		return Latency{}
	}
	slices.Sort(times)
	at := func(share float64) float64 { return times[min(int(share*float64(len(times))), len(times)-1)] }
	return Latency{Count: len(times), P50: at(0.5), P99: at(0.99), P999: at(0.999), Longest: at(1)}
}

// Serving is how fast a served model answers. Latencies are those that clients see, with HTTP on the same
// machine.
type Serving struct {
	Run     string  `json:"run"`
	Clients int     `json:"clients"`
	Cores   int     `json:"cores"`
	Seconds float64 `json:"seconds"`
	// PerSecond are counted answers to observations, of all clients together, until the last of these clients ended:
	// forecasts may take longer.
	PerSecond float64 `json:"filtered_per_second"`
	Filtered  Latency `json:"filtered"`  // answers to observations
	Refused   Latency `json:"refused"`   // answers that the service is busy
	Forecasts Latency `json:"forecasts"` // of 100 steps and up to 4,096 paths
	Step      Latency `json:"step"`      // a filter step alone, without HTTP
}

// MeasureServing serves a run on a loopback address under a load, which grows during the first tenth of the time.
// Then it filters without HTTP, where the family has steps. A client that is refused waits as long as the service
// asks. open opens the run, once for each of the two. The number of cores holds for the process as long as it
// measures. An answer other than success and busy is an error.
func MeasureServing(open func() (*trained.Run, error), load ServingLoad) (Serving, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(load.Cores))
	r := Serving{Clients: load.Clients, Cores: load.Cores}
	run, err := open()
	if err != nil {
		return r, err
	}
	r.Run = run.Info().Name
	sent, err := seriesOf(run)
	if err != nil {
		return r, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return r, fmt.Errorf("listen: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	served := make(chan error, 1)
	limits := serving.Limits{Deadline: time.Hour} // a slow answer is a measurement, not an error
	go func() { served <- serving.Serve(ctx, run, serving.Options{Listener: l, Limits: limits}) }()
	failed := r.clients(load, "http://"+l.Addr().String(), sent)
	cancel()
	if err := errors.Join(failed, <-served); err != nil {
		return r, err
	}
	if run, err = open(); err != nil {
		return r, err
	}
	return r, r.filterSteps(run, sent)
}

// seriesOf is what clients send, over and over: a recording of the run, or numbers between −0.5 and 0.5 where its files
// are gone.
func seriesOf(run *trained.Run) (trained.Series, error) {
	nx, nu, err := run.Dims()
	if err != nil {
		return trained.Series{}, err
	}
	if list, _, err := run.Select(trained.Selection{}); err == nil && len(list) > 0 {
		return list[0].Series, nil
	}
	var s trained.Series
	for n := range 13 {
		row := make([]float64, nx)
		for i := range row {
			row[i] = float64((7*n+3*i)%13)/13 - 0.5
		}
		s.Observations, s.Controls = append(s.Observations, row), append(s.Controls, make([]float64, nu))
	}
	return s, nil
}

// observation is the n-th of a series that begins anew behind its end. The first controls have no effect, and may be
// missing: they are zeros.
func observation(s trained.Series, n int) trained.Observation {
	t := n % len(s.Observations)
	o := trained.Observation{Values: s.Observations[t]}
	if s.Controls != nil {
		if o.Controls = s.Controls[t]; t == 0 {
			o.Controls = make([]float64, len(o.Controls))
		}
	}
	return o
}

// clients runs all clients until the end of the measurement and sums up what they saw. They send a series.
func (r *Serving) clients(load ServingLoad, url string, sent trained.Series) error {
	began := time.Now()
	var list []*servedClient
	for i := range load.Clients + load.Forecasts {
		c := &servedClient{name: fmt.Sprint("client-", i), sent: sent, end: began.Add(load.Duration)}
		c.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
		if i < load.Clients {
			c.url, c.next, c.uncounted = url+"/v1/filter", c.observe, warming
		} else {
			c.url, c.next = url+"/v1/forecast", c.forecast
		}
		list = append(list, c)
	}
	var wg sync.WaitGroup
	// They begin one after the other, so that their connections are not all made at once.
	for i, c := range list {
		time.Sleep(time.Until(began.Add(load.Duration / 10 * time.Duration(i) / time.Duration(len(list)))))
		wg.Go(func() { c.err, c.lasted = c.run(), time.Since(began).Seconds() })
	}
	wg.Wait()
	r.Seconds = time.Since(began).Seconds()
	var filtered, forecasts, refused []float64
	var err error
	lasted := 0.0
	for i, c := range list {
		refused = append(refused, c.refused...)
		if i < load.Clients {
			filtered, lasted = append(filtered, c.answered...), max(lasted, c.lasted)
		} else {
			forecasts = append(forecasts, c.answered...)
		}
		err = errors.Join(err, c.err)
	}
	r.Filtered, r.Forecasts, r.Refused = latency(filtered), latency(forecasts), latency(refused)
	if lasted > 0 {
		r.PerSecond = float64(len(filtered)) / lasted
	}
	return err
}

// A servedClient asks a served model until the end.
type servedClient struct {
	http              *http.Client
	url, name         string
	sent              trained.Series
	end               time.Time
	next              func(n int) (request any)
	uncounted         int       // first answers
	answered, refused []float64 // seconds
	lasted            float64   // seconds of the measurement at its end
	err               error
}

// warming is how many first answers to observations are not counted: they connect, and infer a first state.
const warming = 16

// run asks until the end. It times each request from sending to the whole answer; one that was refused is sent
// again, and its times are kept apart.
func (c *servedClient) run() error {
	defer c.http.CloseIdleConnections()
	for n := 0; time.Now().Before(c.end); {
		body, err := json.Marshal(c.next(n))
		if err != nil {
			return err
		}
		began := time.Now()
		wait, err := c.ask(body)
		took := time.Since(began).Seconds()
		switch {
		case err != nil:
			return err
		// The request is sent again later, under the same number.
		case wait > 0:
			c.refused = append(c.refused, took)
			time.Sleep(min(wait, time.Until(c.end)))
			continue
		case n >= c.uncounted:
			c.answered = append(c.answered, took)
		}
		n++
	}
	return nil
}

// ask sends a request and reads the answer. It returns how long to wait before the request may be sent again, 0
// if it was answered. Other answers are errors.
func (c *servedClient) ask(body []byte) (time.Duration, error) {
	answer, err := c.http.Post(c.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("send a request: %w", err)
	}
	text, err := io.ReadAll(answer.Body)
	if closed := answer.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return 0, fmt.Errorf("read the answer: %w", err)
	}
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // 0: none
	switch {
	case answer.StatusCode == http.StatusOK:
		return 0, nil
	case answer.StatusCode == http.StatusServiceUnavailable && seconds > 0:
		return time.Duration(seconds) * time.Second, nil
	}
	return 0, fmt.Errorf("the service answers %s: %s", answer.Status, bytes.TrimSpace(text))
}

// beginning is how many observations the first request of a client has: enough for a scale of its own.
const beginning = 32

// observe sends the next observation of the client, whose name keeps its state at the service.
func (c *servedClient) observe(n int) any {
	q := serving.FilterRequest{Client: c.name}
	from, to := n+beginning-1, n+beginning
	if n == 0 {
		from = 0
	}
	for i := from; i < to; i++ {
		o := observation(c.sent, i)
		q.Observations = append(q.Observations, inJSON(o.Values))
		if o.Controls != nil {
			q.Controls = append(q.Controls, inJSON(o.Controls))
		}
	}
	return q
}

// inJSON are values as a request has them.
func inJSON(x []float64) []serving.Number {
	list := make([]serving.Number, len(x))
	for i, v := range x {
		list[i] = serving.Number(v)
	}
	return list
}

// forecast is a large one, from a few observations: close to the most work that the service does for a request.
func (c *servedClient) forecast(int) any {
	limits := serving.DefaultLimits()
	q := serving.ForecastRequest{Horizon: 100, Quantiles: []float64{0.1, 0.5, 0.9}}
	// As many paths as the limit of work allows for a horizon of 100 and these quantiles.
	work := q.Horizon * max(len(c.sent.Observations[0]), 1) * (1 + len(q.Quantiles))
	q.Samples = max(1, min(int(limits.Work)/work, limits.Paths))
	for n := range 8 {
		q.Observations = append(q.Observations, inJSON(observation(c.sent, n).Values))
	}
	return q
}

// filterSteps measures filter steps without HTTP, where the family has them. One state is filtered for 5000
// steps, of which the first hundred do not count.
func (r *Serving) filterSteps(run *trained.Run, sent trained.Series) error {
	online, err := run.Online()
	if errors.Is(err, trained.ErrUnable) {
		return nil
	}
	if err != nil {
		return err
	}
	state := &trained.State{Of: sent.Of}
	var times []float64
	for n := range 5000 {
		next := observation(sent, n)
		began := time.Now()
		if err := online.Step([]*trained.State{state}, []trained.Observation{next}); err != nil {
			return err
		}
		if n > 100 {
			times = append(times, time.Since(began).Seconds())
		}
	}
	r.Step = latency(times)
	return nil
}
