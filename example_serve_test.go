package switchyard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/switchyard-ml/switchyard"
)

// small trains a small model in dir.
func small(dir string) *switchyard.Run {
	run, err := switchyard.Train(context.Background(), switchyard.Options{
		Preset: "fhn/smoke", RunsDir: dir, Settings: []string{"train.steps=2"},
	})
	if err != nil {
		log.Fatal(err)
	}
	return run
}

// A trained model is served over HTTP; each client has a state of its own.
func ExampleServe() {
	dir, err := os.MkdirTemp("", "runs-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	run := small(dir)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- switchyard.Serve(ctx, run, switchyard.ServeOptions{Listener: listener}) }()
	for range 2 {
		answer, err := http.Post("http://"+listener.Addr().String()+"/v1/filter", "application/json",
			strings.NewReader(`{"client": "lab", "observations": [[0.1, null], [0.2, 0.9]]}`))
		if err != nil {
			log.Fatal(err)
		}
		var y struct {
			Steps int
			Mean  [][]float64
		}
		if err := json.NewDecoder(answer.Body).Decode(&y); err != nil {
			log.Fatal(err)
		}
		answer.Body.Close()
		fmt.Println(y.Steps, "observations so far,", len(y.Mean), "latent states")
	}
	stop()
	fmt.Println(<-served)
	// Output:
	// 2 observations so far, 2 latent states
	// 4 observations so far, 2 latent states
	// <nil>
}

// An answer is written into the files that the commands write.
func ExampleForecasts() {
	dir, err := os.MkdirTemp("", "runs-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run := small(dir)
	past := switchyard.Recording{Name: "lab", Series: switchyard.Series{Observations: [][]float64{{0, 1}, {0.2, 0.9}}}}
	future, err := run.Forecast(past.Series, switchyard.Query{Horizon: 3})
	if err != nil {
		log.Fatal(err)
	}
	columns, err := run.Columns()
	if err != nil {
		log.Fatal(err)
	}
	answer := switchyard.Forecasts([]switchyard.Recording{past}, []switchyard.Forecast{future}, columns,
		[]float64{0.1, 0.9})
	for _, name := range []string{"forecast.csv", "forecast.npz", "forecast.json", "forecast.svg"} {
		if err := answer.WriteFile(filepath.Join(dir, name)); err != nil {
			log.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "forecast.csv"))
	if err != nil {
		log.Fatal(err)
	}
	head, rows, _ := strings.Cut(string(text), "\n")
	fmt.Println(head)
	fmt.Println(strings.Count(rows, "\n"), "rows")
	// Output:
	// recording,step,y1,y1_q10,y1_q90,y2,y2_q10,y2_q90
	// 3 rows
}
