package web

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/switchyard-ml/switchyard/store"
)

// measured is a server with a run that this process leads, one that another leads, and one
// that is over.
func measured(t *testing.T, token string) *bench {
	t.Helper()
	b := newBench(t, token)
	mine := b.run("mine", 10)
	regimes := store.Values{
		"objective": 5, "elbo": 4, "importance_elbo": 4.5, "kl": 7, "regimes_in_use": 1.8, "regime_information": 0.25,
		"regime_entropy": 0.5, "share_1": 0.75, "switching": 0.125,
	}
	if err := mine.Append(store.Record{Step: 10, Split: "validation", Time: start, Values: regimes}); err != nil {
		t.Fatal(err)
	}
	b.run("other", 3)
	over := b.run("over", 2)
	if err := over.End("finished", ""); err != nil {
		t.Fatal(err)
	}
	b.source.live["mine"] = &Live{
		Term: 2, Waiting: "a worker", ShardsIssued: 120, ShardsUseful: 90, ShardsUndone: 10, Speculations: 3, Audits: 4, Disputes: 1, Rollbacks: 1,
		CutOff: 1, Quarantined: []string{"w9"}, Rejections: map[string]int64{"step": 7}, Checkpointed: time.Now().Add(-time.Hour),
		Workers: []Worker{{ID: "w1", State: "idle"}, {ID: "w2", State: "computing"}, {ID: "w3", State: "computing"}},
	}
	return b
}

func TestPrometheus_Values(t *testing.T) {
	b := measured(t, testToken)
	status, header, body := b.ask("GET", "/metrics", "Authorization", "Bearer "+testToken)
	if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
		t.Fatalf("got %d %v", status, header)
	}
	for _, want := range []string{
		`switchyard_info{version="1.2.3"} 1`, `switchyard_ready 1`, `switchyard_runs{state="running"} 2`, `switchyard_runs{state="finished"} 1`,
		`switchyard_running{run="mine"} 1`, `switchyard_step{run="mine"} 10`, `switchyard_steps{run="mine"} 1000`,
		`switchyard_objective{run="mine",split="train"} 10`, `switchyard_objective{run="mine",split="validation"} 5`, `switchyard_elbo{run="mine"} 4`,
		`switchyard_importance_elbo{run="mine"} 4.5`,
		`switchyard_loss{run="mine",split="train",term="loss"} -10`, `switchyard_loss{run="mine",split="train",term="kl"} 20`,
		`switchyard_loss{run="mine",split="validation",term="kl"} 7`, `switchyard_regimes_in_use{run="mine",split="validation"} 1.8`,
		`switchyard_regime_information{run="mine",split="validation"} 0.25`, `switchyard_regime_entropy{run="mine",split="validation"} 0.5`,
		`switchyard_regime_share{regime="1",run="mine",split="validation"} 0.75`, `switchyard_regime_switching{run="mine",split="validation"} 0.125`,
		`switchyard_gradient_norm{run="mine"} 3`, `switchyard_learning_rate{run="mine"} 0.1`,
		`switchyard_step_seconds_count{run="mine"} 10`, `switchyard_step_seconds_bucket{run="mine",le="0.01"} 0`, `switchyard_step_seconds_bucket{run="mine",le="0.025"} 10`,
		`switchyard_workers{run="mine",state="computing"} 2`, `switchyard_workers{run="mine",state="idle"} 1`, `switchyard_workers{run="other",state="working"} 2`,
		`switchyard_bytes_total{dir="in",run="mine"} 100`, `switchyard_bytes_total{dir="out",run="mine"} 200`,
		`switchyard_waiting{run="mine"} 1`, `switchyard_shards_issued_total{run="mine"} 120`, `switchyard_shards_useful_total{run="mine"} 100`, `switchyard_shards_undone_total{run="mine"} 10`,
		`switchyard_speculations_total{run="mine"} 3`, `switchyard_audits_total{run="mine"} 4`, `switchyard_disputes_total{run="mine"} 1`,
		`switchyard_rollbacks_total{run="mine"} 1`, `switchyard_quarantined_total{run="mine"} 1`, `switchyard_rejections_total{reason="step",run="mine"} 7`,
		`switchyard_checkpoint_age_seconds{run="mine"} 36`, "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("no line %s", want)
		}
	}
	for _, unwanted := range []string{`run="over"`, `switchyard_waiting{run="other"}`, `term="elbo"`, `term="objective"`, `term="importance_elbo"`, `term="workers"`, `term="regime`, `term="share`, `term="switching`} {
		if strings.Contains(body, unwanted) {
			t.Errorf("there is a line with %s", unwanted)
		}
	}
}

// TestPrometheus_CountsOnce: reading the metrics twice counts no step twice, and what a
// run recomputes after it went back is counted as the work that it is.
func TestPrometheus_CountsOnce(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 10)
	for _, want := range []string{"10", "10"} {
		if _, _, body := b.ask("GET", "/metrics"); !strings.Contains(body, `switchyard_step_seconds_count{run="a"} `+want+"\n") {
			t.Errorf("not %s steps", want)
		}
	}
	if err := r.Begin(4); err != nil {
		t.Fatal(err)
	}
	if _, _, body := b.ask("GET", "/metrics"); !strings.Contains(body, `switchyard_step_seconds_count{run="a"} 10`+"\n") || !strings.Contains(body, `switchyard_objective{run="a",split="train"} 4`+"\n") {
		t.Error("not 10 steps, the latest record that of step 4")
	}
	b.grow(r, 5, 6)
	if _, _, body := b.ask("GET", "/metrics"); !strings.Contains(body, `switchyard_step_seconds_count{run="a"} 12`+"\n") || !strings.Contains(body, `switchyard_step{run="a"} 6`+"\n") {
		t.Error("not 12 steps, the last of them 6")
	}
}

// TestPrometheus_NameThatIsNoText: a metric that Prometheus cannot take is left out, and the others are there, at every
// scrape.
func TestPrometheus_NameThatIsNoText(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 3)
	f, err := os.OpenFile(r.Path("metrics.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	const record = `{"step":4,"split":"train","time":"2026-01-01T00:00:04Z","seconds":4,"values":{"` + "\xff" + `":1,"kl":9}}` + "\n"
	_, err = f.WriteString(record)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		status, _, body := b.ask("GET", "/metrics")
		if status != 200 || !strings.Contains(body, `switchyard_loss{run="a",split="train",term="kl"} 9`) ||
			!strings.Contains(body, `switchyard_running{run="a"} 1`) {
			t.Errorf("status %d, %d bytes", status, len(body))
		}
	}
	if !strings.Contains(b.log.String(), "metrics cannot be collected") {
		t.Error("the log does not say that one is left out")
	}
}

func TestPrometheus_Lint(t *testing.T) {
	b := measured(t, "")
	problems, err := testutil.GatherAndLint(b.server.registry())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
