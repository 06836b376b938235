package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// A timeline names every party, has each shard of each step once, a message of parameters, and an update between two
// steps; nothing overlaps in one lane, and no span is in the future.
func TestTimeline(t *testing.T) {
	var file bytes.Buffer
	cfg := toyWire(t)
	cfg.Trace = &file
	w, err := MeasureWire(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if w.Steps != 10 {
		t.Errorf("%d steps count, the timeline among them", w.Steps)
	}
	var got struct {
		TraceEvents []traceEvent `json:"traceEvents"`
	}
	if err := json.Unmarshal(file.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	seen, ends := map[string]int{}, map[[2]int]float64{}
	for _, e := range got.TraceEvents {
		switch e.Phase {
		case "M":
			if e.Name == "process_name" {
				seen[e.Arguments["name"].(string)]++
			}
		case "X":
			seen[e.Name]++
			lane := [2]int{e.Process, e.Thread}
			if e.Start < ends[lane]-1e-3 || e.Duration < 0 {
				t.Errorf("%+v begins before what stands before it in its lane ends", e)
			}
			ends[lane] = e.Start + e.Duration
		}
	}
	for _, party := range []string{"coordinator", "worker 1", "worker 2"} {
		if seen[party] != 1 {
			t.Errorf("%s is named %d times", party, seen[party])
		}
	}
	for step := range warmUp + cfg.Steps {
		for shard := range cfg.Run.Shards {
			if name := fmt.Sprintf("shard %d of step %d", shard, step); seen[name] < 1 {
				t.Errorf("%s is missing", name)
			}
		}
		if name := fmt.Sprintf("step %d", step+1); seen[name] != 1 {
			t.Errorf("%s is there %d times", name, seen[name])
		}
	}
	for _, name := range []string{"Lease", "Chunk", "Theta", "sum, clip, Adam"} {
		if seen[name] < cfg.Steps {
			t.Errorf("%q is there %d times, in %d steps", name, seen[name], cfg.Steps)
		}
	}
}
