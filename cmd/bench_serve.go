package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/serving"
	"github.com/switchyard-ml/switchyard/trained"
)

// serveReport is the result of bench serve.
type serveReport struct {
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

func (a *app) benchServeCommand() *cobra.Command {
	var clients, cores int
	var duration time.Duration
	c := &cobra.Command{
		Use:   "serve NAME",
		Short: "Measure filter steps of a served model over HTTP under load",
		Long: `Serve the model of a run on a loopback address and let clients send observations, one a
request, each as soon as it has the answer to the last; then filter without HTTP. Server
and clients share the cores. Other work on the machine shows in the tail.`,
		Example: "  " + a.invoked + " bench serve maze-1 --clients 1 --duration 1m --cores 1",
		Args:    exactly("NAME"), ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if clients < 1 || duration <= 0 || cores < 1 {
				return config.Usagef("--clients %d --duration %v --cores %d: they are positive", clients, duration, cores)
			}
			r, err := a.benchServe(args[0], clients, cores, duration)
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printJSON(r)
			}
			return a.printf("filter steps of %s over HTTP, %s on %s, %.0f s: %s requests, %s a second\nround trip  p50 %s, "+
				"p99 %s, p99.9 %s, longest %s\nstep alone  p50 %s, p99 %s\n",
				r.Run, terminal.Count(r.Clients, "client"), terminal.Count(r.Cores, "core"), r.Seconds, terminal.Group(r.Requests),
				terminal.Digits(r.PerSecond),
				milliseconds(r.P50), milliseconds(r.P99), milliseconds(r.P999), milliseconds(r.Longest),
				milliseconds(r.ComputeSeconds), milliseconds(r.ComputeP99))
		},
	}
	c.Flags().IntVar(&clients, "clients", 1, "clients that send at the same time")
	c.Flags().IntVar(&cores, "cores", 1, "cores that this process uses")
	c.Flags().DurationVar(&duration, "duration", time.Minute, "how long")
	a.jsonFlag(c)
	return c
}

func (a *app) benchServe(name string, clients, cores int, duration time.Duration) (serveReport, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	r := serveReport{Run: name, Clients: clients, Cores: cores}
	run, err := a.open(name, trained.Best)
	if err != nil {
		return r, err
	}
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
			own, err := a.oneClient("http://"+l.Addr().String()+"/v1/filter", fmt.Sprint("client-", i), nx, nu,
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
	return r, a.benchFilterStep(name, nx, nu, &r)
}

// oneClient sends observations until the end and returns the times of the answers.
func (a *app) oneClient(url, name string, nx, nu int, end time.Time) ([]float64, error) {
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
