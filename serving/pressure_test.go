package serving

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPressure_RefusesWhileBytesAreLate: with many connections, requests are refused while the canary is late, told when
// to come back, and answered when it is in time again; with few connections none is.
func TestPressure_RefusesWhileBytesAreLate(t *testing.T) {
	s, _ := serve(t, TrainModel(t), DefaultLimits(), "")
	handler := s.Handler("")
	filter := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		q := httptest.NewRequest("POST", "http://localhost/v1/filter",
			strings.NewReader(fmt.Sprintf(`{"client":"a","observations":[%s]}`, observation(0))))
		q.Header.Set("Content-Type", "application/json")
		handler.ServeHTTP(w, q)
		return w
	}
	open := func(n int, state http.ConnState) {
		for range n {
			s.pressure.counts(nil, state)
		}
	}
	late := func(delay time.Duration) {
		for range whole / pressLess * 2 {
			s.pressure.saw(delay)
		}
	}
	late(time.Second)
	open(DefaultLimits().Waiting, http.StateNew)
	if w := filter(); w.Code != http.StatusOK {
		t.Errorf("few connections: status %d: %s", w.Code, w.Body)
	}
	open(1, http.StateNew)
	w := filter()
	if seconds, err := strconv.Atoi(w.Header().Get("Retry-After")); w.Code != http.StatusServiceUnavailable || err != nil ||
		seconds < 1 {
		t.Errorf("late, many connections: status %d, come back after %d s (%v): %s", w.Code, seconds, err, w.Body)
	}
	if refused, late := s.metrics.refused.Load(), s.metrics.late.Load(); refused != 1 || late != 1 {
		t.Errorf("%d requests count as refused, %d as late, want 1", refused, late)
	}
	open(1, http.StateClosed)
	if w := filter(); w.Code != http.StatusOK {
		t.Errorf("few connections again: status %d: %s", w.Code, w.Body)
	}
	open(1, http.StateNew)
	late(0)
	if w := filter(); w.Code != http.StatusOK {
		t.Errorf("in time again: status %d: %s", w.Code, w.Body)
	}
}

// TestPressure_TheCanaryReturns: what is late is forgiven as bytes come through in time.
func TestPressure_TheCanaryReturns(t *testing.T) {
	p := pressure{target: time.Hour}
	p.counts(nil, http.StateNew)
	for range 3 {
		p.saw(2 * time.Hour)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.watch(ctx) }()
	for p.share.Load() > 0 {
		time.Sleep(canaryEvery)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
