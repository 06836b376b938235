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
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/serving"
	"github.com/switchyard-ml/switchyard/trained"
)

// Serving is how fast a served model answers.
type Serving struct {
	Run            string  `json:"run"`
	Clients        int     `json:"clients"`
	Cores          int     `json:"cores"`
	Seconds        float64 `json:"seconds"`
	Requests       int     `json:"requests"`
	PerSecond      float64 `json:"requests_per_second"`
	P50            float64 `json:"p50_seconds"`
	P99            float64 `json:"p99_seconds"`
	P999           float64 `json:"p999_seconds"`
	Longest        float64 `json:"longest_seconds"`
	ComputeP99     float64 `json:"compute_p99_seconds"` // of a filter step alone, without HTTP
	ComputeSeconds float64 `json:"compute_p50_seconds"`
}

// MeasureServing serves a run on a loopback address to so many clients, each of which sends an observation as soon as
// it has the answer to the last. Then it filters without HTTP, where the family has steps. open opens the run.
func MeasureServing(open func() (*trained.Run, error), clients, cores int, duration time.Duration) (Serving, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	r := Serving{Clients: clients, Cores: cores}
	run, err := open()
	if err != nil {
		return r, err
	}
	r.Run = run.Info().Name
	nx, nu, err := run.Dims()
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
	go func() { served <- serving.Serve(ctx, run, serving.Options{Listener: l}) }()
	var mu sync.Mutex
	var times []float64
	var failed error
	var wg sync.WaitGroup
	began := time.Now()
	for i := range clients {
		wg.Go(func() {
			own, err := oneClient("http://"+l.Addr().String()+"/v1/filter", fmt.Sprint("client-", i), nx, nu,
				began.Add(duration))
			mu.Lock()
			defer mu.Unlock()
			times = append(times, own...)
			if err != nil {
				failed = err
			}
		})
	}
	wg.Wait()
	r.Seconds, r.Requests = time.Since(began).Seconds(), len(times)
	r.PerSecond = float64(r.Requests) / r.Seconds
	slices.Sort(times)
	at := func(share float64) float64 {
		if len(times) == 0 {
			return 0
		}
		return times[min(int(share*float64(len(times))), len(times)-1)]
	}
	r.P50, r.P99, r.P999, r.Longest = at(0.5), at(0.99), at(0.999), at(1)
	cancel()
	if err := <-served; failed == nil {
		failed = err
	}
	if failed != nil {
		return r, failed
	}
	if run, err = open(); err != nil {
		return r, err
	}
	return r, r.filterSteps(run, nx, nu)
}

// oneClient sends observations until the end and returns the times of the answers.
func oneClient(url, name string, nx, nu int, end time.Time) ([]float64, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	q := serving.FilterRequest{Client: name, Observations: [][]serving.Number{make([]serving.Number, nx)}}
	if nu > 0 {
		q.Controls = [][]float64{make([]float64, nu)}
	}
	var times []float64
	for n := 0; time.Now().Before(end); n++ {
		for i := range nx {
			q.Observations[0][i] = serving.Number(float64((7*n+3*i)%13)/13 - 0.5)
		}
		body, err := json.Marshal(q)
		if err != nil {
			return times, err
		}
		began := time.Now()
		answer, err := client.Post(url, "application/json", bytes.NewReader(body))
		if err != nil {
			return times, fmt.Errorf("send an observation: %w", err)
		}
		text, err := io.ReadAll(answer.Body)
		if closed := answer.Body.Close(); err == nil {
			err = closed
		}
		if err != nil || answer.StatusCode != http.StatusOK {
			return times, fmt.Errorf("the service answers %s: %s (%w)", answer.Status, text, err)
		}
		if n > 16 { // the first ones infer the first state, and warm up
			times = append(times, time.Since(began).Seconds())
		}
	}
	return times, nil
}

// filterSteps measures filter steps without HTTP, where the family has them.
func (r *Serving) filterSteps(run *trained.Run, nx, nu int) error {
	online, err := run.Online()
	if errors.Is(err, trained.ErrUnable) {
		return nil
	}
	if err != nil {
		return err
	}
	state := &trained.State{}
	next := trained.Observation{Values: make([]float64, nx), Controls: make([]float64, nu)}
	var times []float64
	for n := range 5000 {
		for i := range nx {
			next.Values[i] = float64((7*n+3*i)%13)/13 - 0.5
		}
		began := time.Now()
		if err := online.Step([]*trained.State{state}, []trained.Observation{next}); err != nil {
			return err
		}
		if n > 100 {
			times = append(times, time.Since(began).Seconds())
		}
	}
	slices.Sort(times)
	r.ComputeSeconds, r.ComputeP99 = times[len(times)/2], times[len(times)*99/100]
	return nil
}
