package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBench_StepJSON(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "cpu.prof")
	r := newCLI(t).must("bench", "step", "fhn/smoke", "--json", "--steps", "2", "--seconds", "0", "--threads", "2", "--cpuprofile", profile)
	var got struct {
		Preset  string
		Threads int
		Seconds struct{ Median, Min, Max float64 } `json:"step_seconds"`
		GFLOPS  float64
		Peak    float64  `json:"peak_gflops"`
		Part    float64  `json:"peak_fraction"`
		Allocs  *float64 `json:"allocs_per_step"`
		Bytes   *float64 `json:"bytes_per_step"`
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatalf("%v\n%s", err, r.out)
	}
	if got.Preset != "fhn/smoke" || got.Threads != 2 || got.Seconds.Median <= 0 || got.GFLOPS <= 0 || got.Peak <= 0 || got.Part <= 0 ||
		got.Allocs == nil || got.Bytes == nil {
		t.Errorf("%s", r.out)
	}
	if zipped, err := os.ReadFile(profile); err != nil || !bytes.HasPrefix(zipped, []byte{0x1f, 0x8b}) {
		t.Errorf("the profile is no gzip file: %d bytes, %v", len(zipped), err)
	}
}

func TestBench_WireJSON(t *testing.T) {
	c := newCLI(t)
	for _, carrier := range carriers {
		r := c.must("bench", "wire", "noise/smoke", "--json", "--steps", "2", "--turns", "1", "--threads", "3", "--carrier", carrier)
		var got struct {
			Carrier    string
			Workers    int
			Parameters float64
			Bytes      float64                  `json:"bytes_per_worker_step"`
			Seconds    struct{ Median float64 } `json:"step_seconds"`
			Plain      struct{ Median float64 } `json:"plain_step_seconds"`
		}
		if err := json.Unmarshal([]byte(r.out), &got); err != nil {
			t.Fatalf("%v\n%s", err, r.out)
		}
		// At least one block of four goes up and the parameters come down.
		if got.Carrier != carrier || got.Workers != 3 || got.Bytes < 4*got.Parameters || got.Seconds.Median <= 0 || got.Plain.Median <= 0 {
			t.Errorf("%s: %s", carrier, r.out)
		}
	}
	if r := c.run("bench", "wire", "noise/smoke", "--carrier", "pigeon"); r.code != exitUsage || !strings.Contains(r.err, "direct, broker, tcp") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}
