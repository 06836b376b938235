package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/trained"
)

// fragile is a model of sums that fails, panics and takes its time on request.
type fragile struct{}

const (
	faulty   = 13 // an observation that the model refuses
	panics   = 14
	slow     = 15 // it takes a minute
	infinite = 16 // it takes for ever, whatever the context says
)

func (fragile) begin(*trained.State, []trained.Observation) error { return nil }

func (fragile) step(states []*trained.State, _ []trained.Series, next []trained.Observation) error {
	for i, o := range next {
		switch o.Values[0] {
		case faulty:
			return fmt.Errorf("%w: 13 is refused", trained.ErrSeries)
		case panics:
			panic("14")
		case slow:
			time.Sleep(time.Minute)
		}
		if len(states[i].Mean) == 0 {
			states[i].Mean = []float64{0}
		}
		states[i].Mean[0] += o.Values[0]
	}
	return nil
}

func (fragile) check(*trained.State) error { return nil }

func (fragile) forecast(ctx context.Context, s trained.Series, q *ForecastRequest) (ForecastAnswer, error) {
	switch s.Observations[len(s.Observations)-1][0] {
	case panics:
		panic("14")
	case slow:
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			return ForecastAnswer{}, ctx.Err()
		}
	case infinite:
		time.Sleep(time.Hour)
	}
	return ForecastAnswer{Mean: make([][]Number, q.Horizon)}, nil
}

// serveFragile runs a service of the fragile model until the test ends.
func serveFragile(t *testing.T, l Limits) *Service {
	s := newService(fragile{}, sizes{nx: 1, nz: 1, paths: 10}, Description{SHA256: "abc"}, l, nil)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); <-s.done })
	go s.Work(ctx, 1)
	return s
}

func values(x ...Number) (rows [][]Number) {
	for _, v := range x {
		rows = append(rows, []Number{v})
	}
	return rows
}

// TestFailure_IsThatOfItsRequestAlone: beside a request that fails or panics, others that wait with it are answered; it
// changes nothing, not even by the observations before the one that failed.
func TestFailure_IsThatOfItsRequestAlone(t *testing.T) {
	s := newService(fragile{}, sizes{nx: 1, nz: 1}, Description{}, Limits{}, nil)
	ask := func(client string, x ...Number) (FilterAnswer, error) {
		return s.Filter(t.Context(), FilterRequest{Client: client, Observations: values(x...)})
	}
	bad := map[string][]Number{"faulty": {1, faulty}, "panics": {1, panics}}
	var wg sync.WaitGroup
	for name, x := range bad {
		wg.Go(func() {
			if _, err := ask(name, x...); name == "faulty" && !strings.Contains(fmt.Sprint(err), "observation 2 of 2") ||
				name == "panics" && !errors.Is(err, ErrFailed) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for i := range 5 {
		wg.Go(func() {
			if y, err := ask(fmt.Sprint("good", i), 1, 2, 3); err != nil || y.Mean[2][0] != 6 || y.Steps != 3 {
				t.Errorf("beside failures: %+v, %v", y, err)
			}
		})
	}
	for arrived := 0; arrived < 7; {
		s.mu.Lock()
		arrived = s.machine.under
		s.mu.Unlock()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go s.Work(ctx, 1)
	wg.Wait()
	for name := range bad {
		if y, err := ask(name, 5); err != nil || y.Steps != 1 || y.Mean[0][0] != 5 {
			t.Errorf("%s: after the failure %+v, %v", name, y, err)
		}
	}
	if _, err := s.Forecast(t.Context(), ForecastRequest{Observations: values(panics), Horizon: 1}); !errors.Is(err, ErrFailed) {
		t.Errorf("a forecast that panics: %v", err)
	}
	if n := s.metrics.steps.Load(); n != 5*3+2*1+2*1 { // of the good ones, before each failure, after each
		t.Errorf("%d observations count as filtered", n)
	}
}

// TestForecast_KeepsNoFilterWaiting, is given up when its asker goes or its deadline comes, and one that goes on all the
// same makes the service unhealthy, as does a filter that is stuck.
func TestForecast_KeepsNoFilterWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveFragile(t, Limits{Deadline: 20 * time.Second})
		began := time.Now()
		var wg sync.WaitGroup
		late := func(x Number, want error, after time.Duration, within context.Context) {
			wg.Go(func() {
				_, err := s.Forecast(within, ForecastRequest{Observations: values(x), Horizon: 1})
				if took := time.Since(began); !errors.Is(err, want) || took != after {
					t.Errorf("forecast %v: %v after %v, want %v after %v", x, err, took, want, after)
				}
			})
			synctest.Wait()
		}
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		late(slow, ErrGone, 5*time.Second, short)
		late(slow, ErrGone, 20*time.Second, t.Context()) // waits for the first, then has fifteen seconds
		if y, err := s.Filter(t.Context(), FilterRequest{Client: "a", Observations: values(1)}); err != nil || y.Steps != 1 {
			t.Errorf("beside forecasts: %+v, %v", y, err)
		}
		if err := s.Healthy(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("healthy: %v after %v", err, time.Since(began))
		}
		wg.Wait()
		late(infinite, ErrGone, 40*time.Second, t.Context())
		wg.Wait()
		time.Sleep(10 * time.Second)
		if err := s.Healthy(t.Context()); err == nil || !strings.Contains(err.Error(), "a forecast has been computed for") {
			t.Errorf("a forecast that never ends: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := serveFragile(t, Limits{Deadline: 20 * time.Second})
		if _, err := s.Filter(t.Context(), FilterRequest{Client: "a", Observations: values(slow, 1)}); !errors.Is(err, ErrGone) {
			t.Errorf("a slow filter: %v", err)
		}
		if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "a filter step has been computed for") {
			t.Errorf("a filter that is stuck: %v", err)
		}
		time.Sleep(time.Minute)
		if err := s.Ready(t.Context()); err != nil {
			t.Errorf("after it: %v", err)
		}
		if y, err := s.Filter(t.Context(), FilterRequest{Client: "a", Observations: values(1)}); err != nil || y.Steps != 1 {
			t.Errorf("its client was changed: %+v, %v", y, err)
		}
	})
}

// TestForecast_WorkIsBounded before anything is computed: each of its factors lies within its limit.
func TestForecast_WorkIsBounded(t *testing.T) {
	s := newService(fragile{}, sizes{nx: 2, nz: 1, paths: 100}, Description{}, Limits{}, nil)
	q := ForecastRequest{Observations: [][]Number{{1, 2}}, Horizon: 10_000, Samples: 4096, Quantiles: make([]float64, 64)}
	for i := range q.Quantiles {
		q.Quantiles[i] = float64(i+1) / 65
	}
	_, err := s.Forecast(t.Context(), q)
	if !errors.Is(err, ErrTooLarge) || Status(err) != http.StatusRequestEntityTooLarge || !strings.Contains(err.Error(), "10000 × 4096 paths × 2 channels × (1 + 64 quantiles)") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	refused := make(chan error, 20)
	for range cap(refused) { // nothing is computed: they wait, until there is no room for one more
		go func() {
			_, err := s.Forecast(ctx, ForecastRequest{Observations: [][]Number{{1, 2}}, Horizon: 5000, Samples: 200})
			refused <- err
		}()
	}
	err = <-refused
	if !errors.Is(err, ErrBusy) || Status(err) != http.StatusServiceUnavailable {
		t.Errorf("got %v", err)
	}
}

// TestClients_AreSavedAndRestored: the copy goes on as the client does, and a state of other parameters is refused.
func TestClients_AreSavedAndRestored(t *testing.T) {
	_, url := serve(t, TrainModel(t), DefaultLimits(), "")
	for n := range 6 {
		ask(t, "POST", url+"/v1/filter", fmt.Sprintf(`{"client":"a","observations":[%s]}`, observation(n)), nil)
		var saved json.RawMessage
		if status := ask(t, "GET", url+"/v1/clients/a", "", &saved); status != http.StatusOK {
			t.Fatalf("status %d: %s", status, saved)
		}
		if status := ask(t, "PUT", url+"/v1/clients/b", string(saved), nil); status != http.StatusNoContent {
			t.Fatalf("restore: status %d of %s", status, saved)
		}
		var a, b FilterAnswer
		var fa, fb ForecastAnswer
		ask(t, "POST", url+"/v1/forecast", `{"client":"a","horizon":2}`, &fa)
		ask(t, "POST", url+"/v1/forecast", `{"client":"b","horizon":2}`, &fb)
		ask(t, "POST", url+"/v1/filter", `{"client":"b","observations":[[0.5,0.5]]}`, &b)
		ask(t, "PUT", url+"/v1/clients/c", string(saved), nil)
		ask(t, "POST", url+"/v1/filter", `{"client":"c","observations":[[0.5,0.5]]}`, &a)
		if fa.Mean[1][0] != fb.Mean[1][0] || a.Mean[0][0] != b.Mean[0][0] || b.Steps != n+2 {
			t.Errorf("after %d observations: %+v, %+v; %+v, %+v", n+1, fa, fb, a, b)
		}
		other := strings.Replace(string(saved), `"params_sha256":"`, `"params_sha256":"0`, 1)
		if status := ask(t, "PUT", url+"/v1/clients/b", other, nil); status != http.StatusConflict {
			t.Errorf("a state of other parameters: status %d", status)
		}
		damaged := strings.Replace(string(saved), `"Z":[`, `"Z":[1,`, 1)
		if status := ask(t, "PUT", url+"/v1/clients/b", damaged, nil); status != http.StatusConflict {
			t.Errorf("a damaged state: status %d", status)
		}
	}
}

// TestRestore_ControlsOfFewerObservations: a state whose lists differ in length is refused, also if the model has no
// controls: a forecast from it would fail while it holds the lock.
func TestRestore_ControlsOfFewerObservations(t *testing.T) {
	s := serveFragile(t, Limits{History: 2})
	saved := ClientState{
		SHA256: "abc", Steps: 4, State: &trained.State{}, Observations: values(1, 2, 3, 4), Controls: [][]Number{{}},
	}
	if err := s.Restore(t.Context(), "a", saved); !errors.Is(err, ErrState) {
		t.Errorf("got %v, want ErrState", err)
	}
	for _, none := range [][][]Number{nil, {}} {
		saved.Controls = none
		if err := s.Restore(t.Context(), "a", saved); err != nil {
			t.Error(err)
		}
		if _, err := s.Forecast(t.Context(), ForecastRequest{Client: "a", Horizon: 1}); err != nil {
			t.Error(err)
		}
	}
}

// TestGuard_RefusesOtherSites: hosts of other names, pages of other origins, and bodies that such pages can send without
// asking.
func TestGuard_RefusesOtherSites(t *testing.T) {
	_, url := serve(t, TrainModel(t), DefaultLimits(), "")
	for _, test := range []struct {
		key, value string
		want       int
	}{
		{"Content-Type", "application/json", 200},
		{"Content-Type", "application/x-www-form-urlencoded", 200},
		{"Content-Type", "text/plain", 415},
		{"Content-Type", "multipart/form-data; boundary=x", 415},
		{"Content-Type", "@", 415},
		{"Host", "evil.example", 421},
		{"Origin", "https://evil.example", 403},
		{"Sec-Fetch-Site", "cross-site", 403},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/filter", strings.NewReader(`{"client":"a","observations":[[1,2]]}`))
		if err != nil {
			t.Fatal(err)
		}
		if r.Header.Set(test.key, test.value); test.key == "Host" {
			r.Host = test.value
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != test.want {
			t.Errorf("%s: %s: status %d, want %d", test.key, test.value, answer.StatusCode, test.want)
		}
	}
}

// TestFilter_FirstStateHasNoSwitch: what nothing is known of is null, not 0.
func TestFilter_FirstStateHasNoSwitch(t *testing.T) {
	_, url := serve(t, TrainModel(t), DefaultLimits(), "")
	var y FilterAnswer
	ask(t, "POST", url+"/v1/filter", `{"client":"a","observations":[[1,null],[1,2],[2,2]]}`, &y)
	if !math.IsNaN(float64(y.SD[0][0])) || !math.IsNaN(float64(y.Weights[0][0])) || !(y.SD[2][0] > 0) || !(y.Weights[2][0] > 0) {
		t.Errorf("sd %v, weights %v", y.SD, y.Weights)
	}
}

// TestForget_WithoutAName: it is a wrong request, no forecast of nothing.
func TestForget_WithoutAName(t *testing.T) {
	s := serveFragile(t, Limits{})
	if err := s.Forget(t.Context(), ""); !errors.Is(err, ErrRequest) {
		t.Errorf("got %v, want ErrRequest", err)
	}
}

// TestServer_WaitsForAnswers: a connection is not closed before the time of a request is over, however slowly it came: its
// answer says what became of the client.
func TestServer_WaitsForAnswers(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Hour} {
		s := newService(fragile{}, sizes{nx: 1, nz: 1}, Description{}, Limits{Deadline: limit}, nil)
		server := s.server(Options{Log: hclog.NewNullLogger()})
		if got := server.WriteTimeout; got <= server.ReadTimeout+s.limits.Deadline {
			t.Errorf("requests may take %v, answers %v, and connections are closed after %v", server.ReadTimeout,
				s.limits.Deadline, got)
		}
	}
}

// TestRestore_OfALongerHistory: a service that forecasts from fewer observations takes the last ones of a saved state.
func TestRestore_OfALongerHistory(t *testing.T) {
	long, short := serveFragile(t, Limits{History: 20}), serveFragile(t, Limits{History: 3})
	if _, err := long.Filter(t.Context(), FilterRequest{
		Client: "a", Observations: values(1, 2, 3, 4, 5, 6, 7, 8, 9), Controls: make([][]Number, 9),
	}); err != nil {
		t.Fatal(err)
	}
	saved, err := long.Save(t.Context(), "a")
	if err == nil {
		err = short.Restore(t.Context(), "a", *saved)
	}
	if err != nil {
		t.Fatal(err)
	}
	if saved, err = short.Save(t.Context(), "a"); err != nil || saved.Steps != 9 || len(saved.Observations) != 3 ||
		saved.Observations[2][0] != 9 {
		t.Errorf("got %+v, %v", saved, err)
	}
}
