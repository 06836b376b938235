package serving_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/serving"
)

// TestServe_AnswersOnItsSubjects, an error with its text, and stops with its context.
func TestServe_AnswersOnItsSubjects(t *testing.T) {
	run, err := switchyard.Train(t.Context(), switchyard.Options{Preset: "fhn/smoke", RunsDir: t.TempDir(), Name: "served", Settings: []string{"train.steps=2"}})
	if err != nil {
		t.Fatal(err)
	}
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
	s, err := serving.New(run, serving.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go s.Work(ctx)
	done := make(chan error, 1)
	go func() { done <- serving.Serve(ctx, conn, s, "served") }()
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
