package serving

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/switchyard-ml/switchyard/trained"
)

// TrainModel trains a tiny model on the oscillator. The tests outside of the package set it.
var TrainModel func(t *testing.T, settings ...string) *trained.Run

// serve serves a run over HTTP.
func serve(t *testing.T, run *trained.Run, limits Limits, token string) (*Service, string) {
	t.Helper()
	s, err := New(run, limits, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go s.Work(ctx, 1)
	server := httptest.NewServer(s.Handler(token))
	t.Cleanup(func() { server.Close(); cancel() })
	return s, server.URL
}

// ask sends a request and decodes the answer.
func ask(t *testing.T, method, url, body string, y any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if y != nil {
		if err := json.Unmarshal(text, y); err != nil {
			t.Fatalf("%s %s: %v in %s", method, url, err, text)
		}
	}
	return answer.StatusCode
}

func observation(n int) string {
	return fmt.Sprintf("[%g,%g]", math.Sin(0.2*float64(n)), math.Cos(0.2*float64(n)))
}

// TestFilter_GoesOnFromRequestToRequest: one request of many observations, one for each, and many clients at a time whose
// observations are filtered together have the same answers, up to rounding; a missing value is null.
func TestFilter_GoesOnFromRequestToRequest(t *testing.T) {
	for _, switching := range []string{"concrete", "normal", "deterministic", "categorical", "categorical model.durations=3"} {
		settings := strings.Fields("model.switching=" + switching)
		t.Run(switching, func(t *testing.T) { goesOn(t, TrainModel(t, settings...)) })
	}
}

func goesOn(t *testing.T, run *trained.Run) {
	t.Helper()
	_, url := serve(t, run, DefaultLimits(), "")
	const T = 12
	var list []string
	for n := range T {
		list = append(list, observation(n))
	}
	list[6] = "[null,0.5]"
	var whole FilterAnswer
	if status := ask(t, "POST", url+"/v1/filter", `{"client":"whole","observations":[`+strings.Join(list, ",")+`]}`, &whole); status != 200 {
		t.Fatalf("status %d: %+v", status, whole)
	}
	if whole.Steps != T || len(whole.Mean) != T || len(whole.Mean[0]) != 4 || len(whole.Expected[3]) != 2 || len(whole.Weights[5]) != 4 {
		t.Fatalf("got %+v", whole)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n, x := range list {
				var one FilterAnswer
				if status := ask(t, "POST", url+"/v1/filter", fmt.Sprintf(`{"client":"c%d","observations":[%s]}`, i, x), &one); status != 200 {
					t.Errorf("status %d", status)
					return
				}
				for j, v := range one.Mean[0] {
					if math.Abs(float64(v-whole.Mean[n][j])) > 1e-5 {
						t.Errorf("client %d, step %d: %v, want %v", i, n, one.Mean[0], whole.Mean[n])
						return
					}
				}
			}
		})
	}
	wg.Wait()
	var again FilterAnswer
	ask(t, "POST", url+"/v1/filter", `{"client":"whole","restart":true,"observations":[`+list[0]+`]}`, &again)
	if again.Steps != 1 || again.Mean[0][0] != whole.Mean[0][0] {
		t.Errorf("after a restart: %+v", again)
	}
}

// TestFilter_RequestsOfOneClientFollowEachOther: requests of a client that wait together take effect one after the other,
// as if each had waited for the answer to the one before, a restart and a forecast among them.
func TestFilter_RequestsOfOneClientFollowEachOther(t *testing.T) {
	s, err := New(TrainModel(t), DefaultLimits(), nil)
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		steps int
		mean  []Number
	}
	filter := func(client string, restart bool, from, to int) func() outcome {
		q := FilterRequest{Client: client, Restart: restart}
		for n := from; n < to; n++ {
			q.Observations = append(q.Observations, []Number{Number(math.Sin(float64(n))), Number(math.Cos(float64(n)))})
		}
		return func() outcome {
			y, err := s.Filter(t.Context(), q)
			if err != nil {
				t.Error(err)
				return outcome{}
			}
			return outcome{y.Steps, y.Mean[len(y.Mean)-1]}
		}
	}
	requests := func(client string) []func() outcome {
		return []func() outcome{
			filter(client, false, 0, 5), filter(client, false, 5, 7), filter(client, true, 7, 11),
			func() outcome {
				y, err := s.Forecast(t.Context(), ForecastRequest{Client: client, Horizon: 1})
				if err != nil {
					t.Error(err)
					return outcome{}
				}
				return outcome{0, y.Mean[0]}
			},
			filter(client, false, 11, 12),
		}
	}
	var wg sync.WaitGroup
	together := requests("together")
	got, want := make([]outcome, len(together)), make([]outcome, len(together))
	for i, ask := range together { // nothing is computed yet
		wg.Go(func() { got[i] = ask() })
		for arrived := 0; arrived <= i; runtime.Gosched() {
			s.mu.Lock()
			arrived = s.machine.under
			s.mu.Unlock()
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go s.Work(ctx, 1)
	wg.Wait()
	for i, ask := range requests("apart") {
		want[i] = ask()
	}
	for i, steps := range []int{5, 7, 4, 0, 5} {
		if got[i].steps != steps || want[i].steps != steps {
			t.Fatalf("request %d: %d and %d steps, want %d", i, got[i].steps, want[i].steps, steps)
		}
		for c, v := range want[i].mean {
			if math.Abs(float64(got[i].mean[c]-v)) > 1e-5 {
				t.Errorf("request %d: %v, want %v", i, got[i].mean, want[i].mean)
			}
		}
	}
}

func TestForecast_OfAClientAndOfARequest(t *testing.T) {
	_, url := serve(t, TrainModel(t), DefaultLimits(), "")
	ask(t, "POST", url+"/v1/filter", `{"client":"a","observations":[`+observation(0)+","+observation(1)+`]}`, nil)
	var of, own ForecastAnswer
	if status := ask(t, "POST", url+"/v1/forecast", `{"client":"a","horizon":3,"quantiles":[0.1,0.9]}`, &of); status != 200 || len(of.Mean) != 3 || len(of.Quantiles) != 2 {
		t.Fatalf("status %d: %+v", status, of)
	}
	ask(t, "POST", url+"/v1/forecast", `{"observations":[`+observation(0)+","+observation(1)+`],"horizon":3,"quantiles":[0.1,0.9]}`, &own)
	if of.Mean[2][0] != own.Mean[2][0] || !(of.Quantiles[0][1][0] < of.Mean[1][0] && of.Mean[1][0] < of.Quantiles[1][1][0]) {
		t.Errorf("of the client %+v, of the request %+v", of, own)
	}
	if status := ask(t, "DELETE", url+"/v1/clients/a", "", nil); status != http.StatusNoContent {
		t.Errorf("forget: status %d", status)
	}
	var fault map[string]string
	if status := ask(t, "POST", url+"/v1/forecast", `{"client":"a","horizon":3}`, &fault); status != 400 || !strings.Contains(fault["error"], `client "a" has sent no observations`) {
		t.Errorf("status %d: %v", status, fault)
	}
}

func TestRequests_AreCheckedAndLimited(t *testing.T) {
	limits := DefaultLimits()
	limits.Clients, limits.Observations, limits.Horizon, limits.Bytes = 1, 3, 5, 500
	s, url := serve(t, TrainModel(t), limits, "")
	one := observation(1)
	ask(t, "POST", url+"/v1/filter", `{"client":"first","observations":[`+one+`]}`, nil)
	for _, test := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/filter", `{"observations":[[1,2]]}`, 400, "client: a name"},
		{"/v1/filter", `{"client":"first","observations":[]}`, 400, "observations: 0 rows"},
		{"/v1/filter", `{"client":"first","observations":[[1]]}`, 400, "row 0 has the length 1, want 2"},
		{"/v1/filter", `{"client":"first","observations":[[1,"x"]]}`, 400, "want a number"},
		{"/v1/filter", `{"client":"first","observations":[[1,2]],"controls":[]}`, 400, "controls: 0 rows for 1"},
		{"/v1/filter", `{"client":"first","observations":[[1,2]],"more":1}`, 400, "unknown field"},
		{"/v1/filter", `{"client":"first","observations":[[1,2]]} {}`, 400, "something follows"},
		{"/v1/filter", `[]`, 400, "the body: array, want an object"},
		{"/v1/filter", `{"client":1,"observations":[[1,2]]}`, 400, "client: number, want a string"},
		{"/v1/filter", `{"client":"first","observations":[[1,2]],"restart":1}`, 400, "restart: number, want true or false"},
		{"/v1/forecast", `{"client":"first","horizon":1.5}`, 400, "horizon: number 1.5, want an integer"},
		{"/v1/forecast", `{"client":"first","horizon":1,"seed":-1}`, 400, "seed: number -1, want an integer of at least 0"},
		{"/v1/forecast", `{"client":"first","horizon":1,"quantiles":0.5}`, 400, "quantiles: number, want an array"},
		{"/v1/filter", `{"client":"first","observations":[` + strings.Repeat("[1,2],", 200) + `[1,2]]}`, 413, "too large"},
		{"/v1/filter", `{"client":"second","observations":[[1,2]]}`, 503, "1 clients are in use"},
		{"/v1/forecast", `{"horizon":3}`, 400, "either client or observations"},
		{"/v1/forecast", `{"client":"first","horizon":6}`, 400, "horizon: 6, want 1 to 5"},
		{"/v1/forecast", `{"client":"first","horizon":2,"controls":[[1]]}`, 400, "1 rows for a horizon of 2"},
		{"/v1/forecast", `{"client":"first","horizon":2,"quantiles":[0]}`, 400, "does not lie between"},
	} {
		var fault map[string]string
		if status := ask(t, "POST", url+test.path, test.body, &fault); status != test.status || !strings.Contains(fault["error"], test.want) {
			t.Errorf("%s: status %d, %q; want %d, %q", test.body, status, fault["error"], test.status, test.want)
		}
	}
	var b bytes.Buffer
	s.metrics.write(&b, limits)
	for _, want := range []string{"switchyard_model_filter_steps_total 1\n", "switchyard_model_refused_total 1\n", "switchyard_model_clients 1\n", `switchyard_model_batch_seconds_bucket{le="+Inf"} `} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

// TestFamilies_WithoutStepsFilterTheirLastObservations, and those without a latent state say that they cannot.
func TestFamilies_WithoutStepsFilterTheirLastObservations(t *testing.T) {
	s, url := serve(t, TrainModel(t, "model.kind=kvae"), DefaultLimits(), "")
	if s.about.Incremental {
		t.Error("a kvae filters one observation at a time")
	}
	var y FilterAnswer
	if status := ask(t, "POST", url+"/v1/filter", `{"client":"a","observations":[[1,2],[1,1]]}`, &y); status != 200 || len(y.Mean) != 2 {
		t.Errorf("status %d: %+v", status, y)
	}
	_, url = serve(t, TrainModel(t, "model.kind=linear"), DefaultLimits(), "")
	var fault map[string]string
	if status := ask(t, "POST", url+"/v1/filter", `{"client":"a","observations":[[1,2]]}`, &fault); status != http.StatusNotImplemented || !strings.Contains(fault["error"], "model.kind=linear does not filter") {
		t.Errorf("status %d: %v", status, fault)
	}
	var f ForecastAnswer
	if status := ask(t, "POST", url+"/v1/forecast", `{"observations":[[1,2]],"horizon":2}`, &f); status != 200 || len(f.Mean) != 2 {
		t.Errorf("status %d: %+v", status, f)
	}
}

func TestToken_IsAskedFor(t *testing.T) {
	_, url := serve(t, TrainModel(t), DefaultLimits(), "a-token-of-some-length")
	if status := ask(t, "GET", url+"/v1/model", "", nil); status != http.StatusUnauthorized {
		t.Errorf("without a token: status %d", status)
	}
	if status := ask(t, "GET", url+"/healthz", "", nil); status != 200 {
		t.Errorf("health: status %d", status)
	}
	with := func(authorization string) *http.Response {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/model", nil)
		r.Header.Set("Authorization", authorization)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	for _, wrong := range []string{"Bearer a-token-of-some-lengtH", "Bearer ", "Bearer", "Basic a-token-of-some-length"} {
		if answer := with(wrong); answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q: status %d", wrong, answer.StatusCode)
		}
	}
	answer := with("Bearer a-token-of-some-length")
	var d Description
	if err := json.NewDecoder(answer.Body).Decode(&d); err != nil || d.Family != "slds" || !d.Incremental || d.NX != 2 {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestHandler_NoSuchPath: what is not there is refused in JSON, as all else that is refused, and a path that is says
// what it takes.
func TestHandler_NoSuchPath(t *testing.T) {
	_, url := serve(t, TrainModel(t), DefaultLimits(), "")
	for _, test := range []struct {
		method, path, message string
		status                int
	}{
		{"GET", "/v1/models", "there is no /v1/models here: see /openapi.json", http.StatusNotFound},
		{"GET", "/v1/filter", "/v1/filter takes POST, not GET", http.StatusMethodNotAllowed},
		{"PATCH", "/v1/clients/x", "/v1/clients/x takes DELETE, GET, HEAD, PUT, not PATCH", http.StatusMethodNotAllowed},
	} {
		var answer struct{ Error string }
		if status := ask(t, test.method, url+test.path, "{}", &answer); status != test.status || answer.Error != test.message {
			t.Errorf("%s %s: status %d, %q", test.method, test.path, status, answer.Error)
		}
	}
}

// TestOpenAPI_NamesWhatIsServed: every path of the document is answered, references have targets, and the members of its
// schemas are those of the messages.
func TestOpenAPI_NamesWhatIsServed(t *testing.T) {
	var doc struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	_, url := serve(t, TrainModel(t), DefaultLimits(), "")
	for path, methods := range doc.Paths {
		for method := range methods {
			if method == "parameters" {
				continue
			}
			if status := ask(t, strings.ToUpper(method), url+strings.ReplaceAll(path, "{client}", "x"), "{}", nil); status == 404 || status == 405 {
				t.Errorf("%s %s: status %d", method, path, status)
			}
		}
	}
	for name, message := range map[string]any{"FilterRequest": FilterRequest{Controls: [][]Number{{}}, Restart: true}, "FilterAnswer": FilterAnswer{Expected: [][]Number{{}}, Noise: [][]Number{{}}}, "ForecastRequest": ForecastRequest{Client: "x", Observations: [][]Number{{}}, PastControls: [][]Number{{}}, Controls: [][]Number{{}}, Quantiles: []float64{0}, Samples: 1, Seed: 1}, "ForecastAnswer": ForecastAnswer{Quantiles: [][][]Number{{}}, Levels: []float64{1}}, "Description": Description{}, "ClientState": ClientState{State: &trained.State{}, Controls: [][]Number{{}}}} {
		text, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		schema := doc.Components.Schemas[name].Properties
		for member := range members {
			if _, ok := schema[member]; !ok {
				t.Errorf("%s: the document lacks %s", name, member)
			}
		}
		if len(schema) != len(members) {
			t.Errorf("%s: the document has %d members, the message %d", name, len(schema), len(members))
		}
	}
	if !strings.Contains(string(openAPI), `"minimum": 0, "exclusiveMinimum": true, "maximum": 1, "exclusiveMaximum": true`) {
		t.Error("the document allows quantiles of 0 and 1, which are refused")
	}
	for _, at := range strings.Split(string(openAPI), `"$ref": "#/`)[1:] {
		path, _, _ := strings.Cut(at, `"`)
		var node any
		if err := json.Unmarshal(openAPI, &node); err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Split(path, "/") {
			object, _ := node.(map[string]any)
			node = object[word]
		}
		if node == nil {
			t.Errorf("#/%s has no target", path)
		}
	}
}

func TestWork_EndsWhatWaits(t *testing.T) {
	s, err := New(TrainModel(t), DefaultLimits(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Work(ctx, 1)
	if _, err := s.Filter(t.Context(), FilterRequest{Client: "a", Observations: [][]Number{{1, 2}}}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}
