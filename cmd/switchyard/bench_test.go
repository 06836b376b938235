package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
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
