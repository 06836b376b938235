package bench

import (
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/serving"
	"github.com/switchyard-ml/switchyard/trained"
)

// TestServing_RateOfAnswers: the rate is that of the time in which clients asked; a forecast that is slow at the end
// makes no answer before it slower.
func TestServing_RateOfAnswers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		wait := 5 * time.Millisecond
		if r.URL.Path == "/v1/forecast" {
			wait = 2 * time.Second
		}
		time.Sleep(wait)
	}))
	defer server.Close()
	var r Serving
	if err := r.clients(ServingLoad{Clients: 2, Forecasts: 1, Duration: 300 * time.Millisecond}, server.URL, trained.Series{Observations: [][]float64{{1}}}); err != nil {
		t.Fatal(err)
	}
	answers := float64(r.Filtered.Count)
	if answers == 0 || r.PerSecond <= answers/r.Seconds {
		t.Errorf("%g answers before the end of %g s are %g per second", answers, r.Seconds, r.PerSecond)
	}
}

// TestServing_SendsARecording: what clients send is what the run was trained on, as often as they ask, without controls
// that are missing.
func TestServing_SendsARecording(t *testing.T) {
	c := servedClient{name: "a", sent: trained.Series{
		Observations: [][]float64{{1e12}, {1e12 + 1}, {1e12 + 2}}, Controls: [][]float64{{math.NaN()}, {1}, {2}},
	}}
	var observations, controls []serving.Number
	for n := range 5 {
		q := c.observe(n).(serving.FilterRequest)
		if n == 0 && len(q.Observations) < 2 || n > 0 && len(q.Observations) != 1 || len(q.Controls) != len(q.Observations) {
			t.Errorf("request %d has %d observations and %d controls", n, len(q.Observations), len(q.Controls))
		}
		for i := range q.Observations {
			observations, controls = append(observations, q.Observations[i][0]-1e12), append(controls, q.Controls[i][0])
		}
	}
	for i, v := range observations {
		if v != serving.Number(i%3) || controls[i] != v {
			t.Errorf("observation %d is %v, under %v", i, v, controls[i])
		}
	}
}
