package bench

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
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
	if err := r.clients(ServingLoad{Clients: 2, Forecasts: 1, Duration: 300 * time.Millisecond}, server.URL, 1, 0); err != nil {
		t.Fatal(err)
	}
	answers := float64(r.Filtered.Count)
	if answers == 0 || r.PerSecond <= answers/r.Seconds {
		t.Errorf("%g answers before the end of %g s are %g per second", answers, r.Seconds, r.PerSecond)
	}
}
