package serving_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/serving"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/trained"
)

// trainModel trains a tiny model on the oscillator.
func trainModel(t *testing.T, settings ...string) *switchyard.Run {
	t.Helper()
	run, err := switchyard.Train(t.Context(), switchyard.Options{
		Preset: "fhn/smoke", RunsDir: t.TempDir(), Name: "served",
		Settings: append([]string{"train.steps=2"}, settings...),
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// init lends it to the tests in the package, which package switchyard imports.
func init() { serving.TrainModel = trainModel }

// TestServe_Refuses an address that other machines reach without a token, and nothing to serve on.
func TestServe_Refuses(t *testing.T) {
	run := trainModel(t)
	if err := serving.Serve(t.Context(), run, serving.Options{Address: ":0"}); !errors.Is(err, serving.ErrOpen) {
		t.Errorf("an open address without a token: %v", err)
	}
	if err := serving.Serve(t.Context(), run, serving.Options{}); err == nil {
		t.Error("it serves on nothing")
	}
}

// TestServe_AnswersOnItsSubjects, an error with its text, and stops with its context.
func TestServe_AnswersOnItsSubjects(t *testing.T) {
	run := trainModel(t)
	b, err := cluster.Start(cluster.Config{Listen: "127.0.0.1:0", Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Shutdown()
	conn, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serving.Serve(ctx, run, serving.Options{NATS: conn}) }()
	ask := func(question, body string) *nats.Msg {
		t.Helper()
		for {
			m, err := conn.Request(serving.Subject("served", question), []byte(body), time.Minute)
			if err == nil {
				return m
			}
			if err != nats.ErrNoResponders { // until the endpoints are there
				t.Fatal(err)
			}
		}
	}
	var y serving.FilterAnswer
	if err := json.Unmarshal(ask("filter", `{"client":"a","observations":[[1,2],[1,1]]}`).Data, &y); err != nil || y.Steps != 2 || len(y.Mean[1]) != 4 {
		t.Errorf("got %+v, %v", y, err)
	}
	var f serving.ForecastAnswer
	if err := json.Unmarshal(ask("forecast", `{"client":"a","horizon":4}`).Data, &f); err != nil || len(f.Mean) != 4 {
		t.Errorf("got %+v, %v", f, err)
	}
	if m := ask("filter", `{"client":"a"}`); m.Header.Get("Nats-Service-Error-Code") != "400" || !strings.Contains(m.Header.Get("Nats-Service-Error"), "observations: 0 rows") {
		t.Errorf("got %v", m.Header)
	}
	// What does not fit into a message of the broker is refused before it changes anything.
	many := strings.TrimSuffix(strings.Repeat("[1,2],", 9000), ",")
	for question, body := range map[string]string{
		"filter":   `{"client":"a","observations":[` + many + `]}`,
		"forecast": `{"client":"a","horizon":1000,"samples":2,"quantiles":[0.5` + strings.Repeat(",0.5", 63) + `]}`,
	} {
		if m := ask(question, body); m.Header.Get("Nats-Service-Error-Code") != "413" {
			t.Errorf("%s with too large an answer: %v", question, m.Header)
		}
	}
	if err := json.Unmarshal(ask("filter", `{"client":"a","observations":[[1,2]]}`).Data, &y); err != nil || y.Steps != 3 {
		t.Errorf("after them: %d steps, %v", y.Steps, err)
	}
	ask("forget", "a")
	// Whoever sends what cannot be read hears so, however long it is.
	for question, body := range map[string]string{
		"forget": strings.Repeat("\x00", 400_000), "filter": `{"` + strings.Repeat("\x7f", 400_000) + `":1}`,
	} {
		if m := ask(question, body); m.Header.Get("Nats-Service-Error-Code") != "400" {
			t.Errorf("%s of a long name: %v", question, m.Header)
		}
	}

	// A second server of the run answers half of the requests, with states of its own.
	said, log := io.Pipe()
	go func() {
		done <- serving.Serve(ctx, run, serving.Options{NATS: conn, Log: hclog.New(&hclog.LoggerOptions{Output: log})})
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || !strings.Contains(line, "other servers answer for the same run") || !strings.Contains(line, "servers=1") {
		t.Errorf("the second server says %q, %v", line, err)
	}
	said.Close() // nobody hears the rest
	cancel()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// writePanel writes two recordings of the same values in different units.
func writePanel(t *testing.T, path string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,t,y\n")
	for i, unit := range []float64{1, 1e4} {
		x := 0.0
		for s := range 80 {
			x = 0.8*x + math.Sin(float64(s*s))
			fmt.Fprintf(&b, "%c,%d,%.9g\n", 'a'+i, s, unit*(10+x))
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// servePanel serves a run on a panel, whose recordings have scales of their own. scale is that of recording a.
func servePanel(t *testing.T, family string) (service *serving.Service, scale files.Scale) {
	t.Helper()
	runs := t.TempDir()
	data := filepath.Join(runs, "panel.csv")
	writePanel(t, data)
	run, err := switchyard.Train(t.Context(), switchyard.Options{
		Preset: "files", RunsDir: runs, Name: family, Settings: []string{
			"env.files=" + data, "env.normalise=recording", "env.validation=0.2", "env.test=0.2", "env.window=8", "train.steps=2",
			"train.batch=4", "model.kind=" + family, "model.latent=2", "model.switches=2", "model.hidden=8",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if service, err = serving.New(run, serving.Limits{History: 5}, nil); err != nil {
		t.Fatal(err)
	}
	go service.Work(t.Context(), 1)
	return service, scaleOf(t, filepath.Join(runs, family), "a")
}

// renamed saves the state of a client and restores it, by way of JSON and changed, under another name.
func renamed(t *testing.T, service *serving.Service, from, to string, change func(text string) string) error {
	t.Helper()
	saved, err := service.Save(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	var read serving.ClientState
	if err := json.Unmarshal([]byte(change(string(text))), &read); err != nil {
		t.Fatal(err)
	}
	return service.Restore(t.Context(), to, read)
}

// TestScale_OfTheFirstRequest: where each recording has a scale of its own, a client that is none has the scale of its first
// request, whatever comes later. If that is the scale of a recording, its filter and its forecasts are those of a client
// that is the recording; and so they are after its state was saved and restored, and if the history is short.
func TestScale_OfTheFirstRequest(t *testing.T) {
	for _, family := range []string{"slds", "kvae"} { // with and without a filter of single steps
		service, scale := servePanel(t, family)
		first := [][]serving.Number{{serving.Number(scale.Mean[0] - scale.SD[0])}, {serving.Number(scale.Mean[0] + scale.SD[0])}}
		later := [][]serving.Number{{10}, {11}, {14}, {12}, {13}, {9}, {15}, {11}}
		filtered := map[string]serving.FilterAnswer{}
		for _, client := range []string{"a", "other"} {
			for _, rows := range [][][]serving.Number{first, later} {
				y, err := service.Filter(t.Context(), serving.FilterRequest{Client: client, Observations: rows})
				if err != nil {
					t.Fatal(err)
				}
				filtered[client] = y
			}
		}
		same(t, family+" filters", filtered["other"].Mean, filtered["a"].Mean)
		if err := renamed(t, service, "other", "again", func(text string) string { return text }); err != nil {
			t.Fatal(err)
		}
		forecast := func(client string) [][]serving.Number {
			f, err := service.Forecast(t.Context(), serving.ForecastRequest{Client: client, Horizon: 3})
			if err != nil {
				t.Fatal(err)
			}
			return f.Mean
		}
		same(t, family+" forecasts", forecast("other"), forecast("a"))
		same(t, family+" forecasts what was restored", forecast("again"), forecast("a"))

		_, err := service.Filter(t.Context(), serving.FilterRequest{Client: "new", Observations: first[:1]})
		if !errors.Is(err, trained.ErrSeries) || !strings.Contains(err.Error(), "begin with more") {
			t.Errorf("%s: one observation has a scale: %v", family, err)
		}
		negative := func(text string) string { return strings.Replace(text, `"sd":[`, `"sd":[-`, 1) }
		if err := renamed(t, service, "other", "damaged", negative); !errors.Is(err, serving.ErrState) {
			t.Errorf("%s: a damaged scale: %v", family, err)
		}
	}
}

// trainSteered trains a tiny model of a family on a series with a control.
func trainSteered(t *testing.T, family string) *switchyard.Run {
	t.Helper()
	runs := t.TempDir()
	data := filepath.Join(runs, "steered.csv")
	var b strings.Builder
	b.WriteString("t,y,u\n")
	x := 0.0
	for s := range 120 {
		u := math.Sin(float64(s * s))
		x = 0.8*x + u
		fmt.Fprintf(&b, "%d,%.9g,%.9g\n", s, x, u)
	}
	if err := os.WriteFile(data, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := switchyard.Train(t.Context(), switchyard.Options{
		Preset: "files", RunsDir: runs, Name: family, Settings: []string{
			"env.files=" + data, "env.validation=0.2", "env.test=0.2", "env.window=8", "train.steps=2", "train.batch=4",
			"model.kind=" + family, "model.latent=2", "model.switches=2", "model.hidden=8",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestControls_AreNotMissing: null among the controls is refused wherever they come in, and changes nothing. The first row
// of a series has no effect, and may be anything.
func TestControls_AreNotMissing(t *testing.T) {
	for _, family := range []string{"slds", "kvae"} { // with and without a filter of single steps
		run := trainSteered(t, family)
		service, err := serving.New(run, serving.Limits{History: 5}, nil)
		if err != nil {
			t.Fatal(err)
		}
		go service.Work(t.Context(), 1)
		server := httptest.NewServer(service.Handler(""))
		t.Cleanup(server.Close)
		for _, c := range []struct {
			path, body string
			status     int
		}{
			{"filter", `{"client":"a","observations":[[1],[2]],"controls":[[5],[null]]}`, 400},
			{"filter", `{"client":"a","observations":[[1],[2]],"controls":[[null],[5]]}`, 200},
			{"filter", `{"client":"a","observations":[[1]],"controls":[[null]]}`, 400},
			{"forecast", `{"client":"a","horizon":2,"controls":[[1],[null]]}`, 400},
			{"forecast", `{"client":"a","horizon":2,"controls":[[1],[2]]}`, 200},
			{"forecast", `{"client":"a","horizon":2}`, 200},
			{"forecast", `{"observations":[[1],[2]],"past_controls":[[5],[null]],"horizon":2}`, 400},
			{"forecast", `{"observations":[[1],[2]],"past_controls":[[null],[5]],"horizon":2}`, 200},
		} {
			answer, err := http.Post(server.URL+"/v1/"+c.path, "application/json", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(answer.Body)
			if err := errors.Join(err, answer.Body.Close()); err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != c.status || c.status == 400 && !strings.Contains(string(text), "a control cannot be missing") {
				t.Errorf("%s: %s: %d %s", family, c.body, answer.StatusCode, text)
			}
		}
		same := func(text string) string { return text }
		if err := renamed(t, service, "a", "b", same); err != nil {
			t.Errorf("%s: %v", family, err)
		}
		missing := func(text string) string { return strings.Replace(text, "[5]", "[null]", 1) }
		if err := renamed(t, service, "a", "c", missing); !errors.Is(err, serving.ErrRequest) {
			t.Errorf("%s: a state with a missing control is restored: %v", family, err)
		}
		if y, err := service.Filter(t.Context(), serving.FilterRequest{Client: "b", Observations: [][]serving.Number{{1}}}); err != nil || y.Steps != 3 {
			t.Errorf("%s: after all of them %d steps, %v", family, y.Steps, err)
		}
	}
}

// TestLines_ControlsAreNotMissing: a line without its control is refused by its number.
func TestLines_ControlsAreNotMissing(t *testing.T) {
	run := trainSteered(t, "slds")
	lines := `{"observation":[1],"controls":[null]}` + "\n" + `{"observation":[1]}` + "\n" + `{"observation":[2],"controls":[null]}`
	var out strings.Builder
	err := serving.Lines(run, strings.NewReader(lines), &out, serving.LinesOptions{})
	var fault *files.Error
	if !errors.As(err, &fault) || fault.Place != "line 3" || !strings.Contains(fault.Problem, "a control cannot be missing") {
		t.Errorf("%v, after %d answers", err, strings.Count(out.String(), "\n"))
	}
}

// same reports numbers that differ by more than rounding.
func same(t *testing.T, what string, got, want [][]serving.Number) {
	t.Helper()
	for i := range want {
		for j, v := range want[i] {
			if math.Abs(float64(v-got[i][j])) > 1e-3 {
				t.Errorf("%s %v, of the recording %v", what, got[i], want[i])
				break
			}
		}
	}
}

// scaleOf is the scale of a recording of a run.
func scaleOf(t *testing.T, folder, recording string) files.Scale {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, store.NormalisationFile))
	if err != nil {
		t.Fatal(err)
	}
	var n files.Normalisation
	if err := json.Unmarshal(text, &n); err != nil {
		t.Fatal(err)
	}
	return n.Recordings[recording]
}

// TestRestore_HoldsNoMoreThanAClient: what is restored is held, and is not counted one by one. So its lists are no longer
// than those of a client that has filtered, and what nobody reads of it is dropped.
func TestRestore_HoldsNoMoreThanAClient(t *testing.T) {
	for _, family := range []string{"slds", "kvae"} { // with and without a filter of single steps
		service, _ := servePanel(t, family)
		if _, err := service.Filter(t.Context(), serving.FilterRequest{
			Client: "other", Observations: [][]serving.Number{{1}, {2}, {4}, {3}, {5}, {1}},
		}); err != nil {
			t.Fatal(err)
		}
		many := strings.Repeat("0,", 1000)
		for old, long := range map[string]string{
			`"SD":[`:       `"SD":[` + many,
			`"Weights":[`:  `"Weights":[` + many,
			`"Expected":[`: `"Expected":[` + many,
			`"Noise":[`:    `"Noise":[` + many,
			`"Past":[]`:    `"Past":[` + strings.Repeat("[0],", 1000) + `[0]]`,
			`"T":0`:        `"T":1000,"First":[` + many[:len(many)-1] + `]`,
			`"Of":"other"`: `"Of":"` + strings.Repeat("a", 1000) + `"`,
		} {
			if family == "kvae" && (strings.HasPrefix(old, `"E`) || strings.HasPrefix(old, `"N`)) {
				old, long = strings.TrimSuffix(old, "[")+"[]", strings.TrimSuffix(long, ",")+"]" // it expects nothing
			}
			if err := renamed(t, service, "other", "long", func(text string) string {
				if !strings.Contains(text, old) {
					t.Fatalf("%s: the state has no %s: %s", family, old, text)
				}
				return strings.Replace(text, old, long, 1)
			}); !errors.Is(err, serving.ErrState) {
				t.Errorf("%s, %s: got %v, want ErrState", family, old, err)
			}
		}
		if err := renamed(t, service, "other", "more", func(text string) string {
			return strings.Replace(text, `"Measured":{`, `"Measured":{"time_unit":"of nobody",`, 1)
		}); err != nil {
			t.Fatal(err)
		}
		saved, err := service.Save(t.Context(), "more")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(saved); err != nil || strings.Contains(string(text), "nobody") {
			t.Errorf("%s: %v, it holds %s", family, err, text)
		}
	}
}
