package cmd

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
	t.Parallel()
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
		// At least one block of four goes up and the parameters come down, but where memory is shared.
		few := got.Bytes < 4*got.Parameters && carrier != sharedCarrier
		if got.Carrier != carrier || got.Workers != 3 || few || got.Seconds.Median <= 0 || got.Plain.Median <= 0 {
			t.Errorf("%s: %s", carrier, r.out)
		}
	}
	if r := c.run("bench", "wire", "noise/smoke", "--carrier", "pigeon"); r.code != exitUsage || !strings.Contains(r.err, "direct, broker, tcp") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func TestBench_Scale(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	arguments := []string{"bench", "scale", "fhn/smoke", "--workers", "1,2,16", "--link", "100Mbit/s", "--latency", "1ms"}
	first := c.must(append(arguments, "--json")...)
	var got scaleTable
	if err := json.Unmarshal([]byte(first.out), &got); err != nil {
		t.Fatalf("%v\n%s", err, first.out)
	}
	if l := got.Load; len(got.Rows) != 3 || l.Shard <= 0 || l.Update <= 0 || l.Merge <= 0 || l.Send+l.Deliver <= 0 {
		t.Fatalf("%s", first.out)
	}
	if r := got.Rows[2]; r.Cluster.Workers != 16 || r.Cluster.Link != 0.94*1e8/8 || r.Prediction.Down <= got.Rows[0].Prediction.Down {
		t.Errorf("%+v", r)
	}
	file := filepath.Join(t.TempDir(), "load.json")
	if err := os.WriteFile(file, []byte(first.out), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := c.must(append(arguments, "--json", "--measured", file)...); again.out != first.out {
		t.Errorf("from the same measurements comes\n%s\nand\n%s", first.out, again.out)
	}
	if table := c.must(append(arguments, "--measured", file)...).out; !strings.Contains(table, "\n16 ") || !strings.Contains(table, "waits for") {
		t.Errorf("%s", table)
	}
	for _, wrong := range [][]string{
		{"fhn/smoke", "--link", "fast"},
		{"fhn/smoke", "--link", "-1Gbit/s"},
		{"fhn/smoke", "--workers", "0"},
		{"fhn/smoke", "--stragglers", "many"},
		{"fhn/smoke", "--cores-per-worker", "0"},
		{"maze/smoke", "--measured", file},
		{"fhn/smoke", "--measured", file + "x"},
	} {
		r := c.run(append([]string{"bench", "scale", "--measured", file}, wrong...)...)
		if r.code != exitUsage {
			t.Errorf("%q: exit code %d, want %d; %s", wrong, r.code, exitUsage, r.err)
		}
	}
}

// TestBench_SignalLeavesNothing: the folder in which a measurement has its runs goes with the command, also if a signal
// ends that.
func TestBench_SignalLeavesNothing(t *testing.T) {
	for _, line := range []string{
		"bench sweep --preset noise/smoke --workers 1 --trials 2 --steps 9 --shard 1ms --stop none",
		"bench wire noise/smoke --steps 1 --turns 1 --threads 1",
	} {
		temporary := t.TempDir()
		t.Setenv("TMPDIR", temporary)
		if code, said := signalled(newCLI(t), line, nil); code != exitFailed {
			t.Errorf("%s: exit code %d\n%s", line, code, said)
		}
		left, err := os.ReadDir(temporary)
		if err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v, %v", line, left, err)
		}
	}
}
