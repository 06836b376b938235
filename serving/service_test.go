package serving_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/serving"
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
			m, err := conn.Request(serving.Subject("served", question), []byte(body), 10*time.Second)
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
	ask("forget", "a")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
