package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// likely is a record as training writes it.
func likely(g *rand.Rand, step uint64) Record {
	seconds := 0.25*float64(step) + float64(g.IntN(250))/1000
	loss := float64(float32(7 + g.NormFloat64()))
	return Record{
		Step: step, Split: "train", Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)), Seconds: seconds,
		Values: Values{
			"bytes_in": float64(16000 + g.IntN(3000)), "bytes_out": float64(28000 + g.IntN(3000)), "bytes_per_worker": float64(36000 + g.IntN(9000)),
			"compute_seconds": 0.004737, "step_seconds": 0.05616, "workers": 2, "learning_rate": 0.0005,
			"gradient_norm": float64(float32(6 + g.Float64())), "kl_initial": float64(float32(g.Float64() / 20)), "kl_state": float64(float32(g.Float64())),
			"kl_switch": float64(float32(4 + g.Float64())), "loss": loss, "objective": -loss, "reconstruction": float64(float32(6 + g.NormFloat64())),
		},
	}
}

// TestRows_AThirdOfTheRecords: a step takes at most a third of the bytes that the record takes as an object, as it was
// written before, and nothing is lost.
func TestRows_AThirdOfTheRecords(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	g := rand.New(rand.NewPCG(1, 2))
	const steps = 500
	var before int
	var want []Record
	for s := uint64(1); s <= steps; s++ {
		m := likely(g, s)
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		before += len(line) + 1
		want = append(want, m)
		if err := r.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(r.Path(metricsFile))
	if err != nil || 3*info.Size() > int64(before) {
		t.Errorf("%d bytes for %d steps, %d as objects, %v", info.Size(), steps, before, err)
	}
	var got []Record
	if err := ReadMetrics(dir, "a", func(m Record) error { got = append(got, m); return nil }); err != nil || len(got) != steps {
		t.Fatalf("%d records, %v", len(got), err)
	}
	for i := range want {
		if !same(got[i], want[i]) {
			t.Fatalf("got %+v, want %+v", got[i], want[i])
		}
	}
}

func same(a, b Record) bool {
	return a.Step == b.Step && a.Split == b.Split && a.Time.Sub(b.Time).Abs() <= 2*time.Millisecond && math.Abs(a.Seconds-b.Seconds) <= 0.001 &&
		maps.EqualFunc(a.Values, b.Values, func(x, y float64) bool {
			return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
		})
}

// TestRows_EveryValue: values that need all digits of a float64, appear late or vanish come back as they were.
func TestRows_EveryValue(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	want := []Record{
		{Step: 1, Split: "train", Values: Values{"a": 0.5, "b": math.Pi}},
		{Step: 2, Split: "train", Values: Values{"a": 0.1, "b": 1}}, // 0.1 is no float32
		{Step: 2, Split: "validation", Values: Values{"a": math.MaxFloat64, "b": math.SmallestNonzeroFloat64}},
		{Step: 3, Split: "train", Seconds: 86400.125, Values: Values{"a": math.NaN(), "b": math.Inf(-1)}},
		{Step: 4, Split: "train", Values: Values{"a": float64(math.MaxFloat32), "b": math.Copysign(0, -1), `odd "name", {}`: 1e-300}},
		{Step: 5, Split: "train", Values: Values{}},
		{Step: 1 << 62, Split: "", Values: Values{"a": 1e21}},
	}
	for _, m := range want {
		if err := r.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	var got []Record
	if err := ReadMetrics(dir, "a", func(m Record) error { got = append(got, m); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestRows_BehindRecordsOfAnOlderRelease: a run that began under an older release goes on in rows; readers see one run.
func TestRows_BehindRecordsOfAnOlderRelease(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, "a")
	g := rand.New(rand.NewPCG(3, 4))
	var want []Record
	var old strings.Builder
	for s := uint64(1); s <= 4; s++ {
		want = append(want, likely(g, s))
		line, err := json.Marshal(want[s-1])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&old, "%s\n", line)
	}
	if err := errors.Join(r.Close(), os.WriteFile(r.Path(metricsFile), []byte(old.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Begin(4); err != nil {
		t.Fatal(err)
	}
	for s := uint64(5); s <= 8; s++ {
		want = append(want, likely(g, s))
		if err := again.Append(want[s-1]); err != nil {
			t.Fatal(err)
		}
	}
	for from := uint64(0); from < 8; from++ { // from the middle too, where the header was passed over
		tail := follow(t, dir, Position{Step: from, Count: 1})
		got, back, err := tail.Next(100)
		if err != nil || back || !slices.EqualFunc(got, want[from:], same) {
			t.Fatalf("from %d: %v, back %v\n%+v", from, err, back, got)
		}
	}
	// Behind a cut that takes headers away, rows have headers again.
	if err := errors.Join(again.Cut(3), again.Append(want[3]), again.Cut(6), again.Append(want[4])); err != nil {
		t.Fatal(err)
	}
	if got, _, err := follow(t, dir, Position{}).Next(100); err != nil || !slices.EqualFunc(got, want[:5], same) {
		t.Errorf("%v\n%+v", err, got)
	}
}

// TestOlder_ReadsWhatPackageJSONReads, or leaves it to that.
func TestOlder_ReadsWhatPackageJSONReads(t *testing.T) {
	g := rand.New(rand.NewPCG(5, 6))
	line, err := json.Marshal(likely(g, 7))
	if err != nil {
		t.Fatal(err)
	}
	var d decoder
	if !d.older(line) {
		t.Error("the usual record is not known at a glance")
	}
	for range 2000 {
		broken := slices.Clone(line)
		for range 1 + g.IntN(2) {
			broken[g.IntN(len(broken))] = "x0,:}{]\"\\ -e."[g.IntN(13)]
		}
		var want Record
		jsonErr := json.Unmarshal(broken, &want)
		if d.older(broken) && (jsonErr == nil && !same(d.row.record(), want)) {
			t.Fatalf("%s\nis read as %+v", broken, d.row.record())
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("{\"key\":0,\"split\":\"a\",\"columns\":[\"x\"],\"single\":[0]}\n[0,1,2,0.5]\n")
	f.Add("{\"key\":0,\"columns\":[\"x\"]}\n[0,1,2,\"NaN\"]\n[0,1,2]\n[]\n[0\n")
	f.Fuzz(func(t *testing.T, text string) {
		var d decoder
		for _, line := range strings.SplitAfter(text, "\n") {
			if r, err := d.decode([]byte(line)); err == nil && r != nil && len(r.Names) != len(r.Values) {
				t.Fatalf("%q: %d names, %d values", line, len(r.Names), len(r.Values))
			}
		}
		headersOf(strings.NewReader(text))
	})
}
