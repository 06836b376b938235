package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/vector"
)

func entryOf(step uint64) Entry {
	theta := []float32{float32(step), 0.1}
	return Entry{
		Step: step, Term: 3, Theta: HashTheta(theta), Norm: 1.0 / 3, Rate: 5e-4,
		Terms:  Floats{0.1, -1e-45, float32(math.Inf(1)), 3.4e38},
		Blocks: []Contribution{{Block: vector.Block{Count: 4}, Checksum: 0xdeadbeef, Worker: "a"}, {Block: vector.Block{First: 4, Count: 4}, Worker: "b-2", Digest: "kJ8sAbC_-fg"}},
		Sums:   []Share{{"b-2", []int{0, 1, 4}, "AAAAAAAAAAA"}, {"c", []int{2, 3, 5, 6, 7}, "BBBBBBBBBBB"}},
	}
}

func lines(t *testing.T, list ...any) string {
	t.Helper()
	var b strings.Builder
	for _, line := range list {
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	return b.String()
}

func TestEntry_RoundTrip(t *testing.T) {
	want := entryOf(7)
	text := lines(t, want)
	if form := `{"step":7,"term":3,"theta":"` + want.Theta + `","terms":[0.1,-1e-45,"+Inf",3.4e+38],"norm":0.3333333333333333,"rate":0.0005,` +
		`"blocks":[[0,4,"deadbeef","a"],[4,4,"kJ8sAbC_-fg","b-2"]],"sums":"0-1,4 AAAAAAAAAAA 1;2-3,5-7 BBBBBBBBBBB =c"}` + "\n"; text != form {
		t.Errorf("got %swant %s", text, form)
	}
	l, err := parseLog(strings.NewReader(text), 0)
	if err != nil || !reflect.DeepEqual(l.Entries[7], want) || l.Last != 7 || l.Term != 3 || l.Size != int64(len(text)) {
		t.Errorf("got %+v, %v", l, err)
	}
}

// A log that a crash or a bad disk has hurt gives all that can be read of it, and its whole length.
func TestReadLog_Hurt(t *testing.T) {
	whole := lines(t, Event{Kind: EventOpen, Term: 4, Chunk: 9}, entryOf(1), entryOf(2))
	third := lines(t, entryOf(3))
	for name, c := range map[string]struct {
		text    string
		last    uint64
		size    int
		damaged int
	}{
		"whole":       {whole, 2, len(whole), 0},
		"empty":       {"", 0, 0, 0},
		"torn":        {whole + third[:len(third)/2], 2, len(whole), 0},
		"no newline":  {whole + third[:len(third)-1], 2, len(whole), 0},
		"zeros":       {whole + strings.Repeat("\x00", 5000), 2, len(whole), 0},
		"last is bad": {whole + "{\"step\":3}\n", 2, len(whole), 0},
		"in between":  {whole + "\x00\x00nonsense\n" + third, 3, len(whole) + 11 + len(third), 1},
		"long line":   {whole + strings.Repeat("x", maxLine+1) + "\n" + third, 3, len(whole) + maxLine + 2 + len(third), 1},
		"bad blocks":  {whole + strings.Replace(third, `[0,4,"deadbeef","a"]`, `[0,4]`, 1), 2, len(whole), 0},
	} {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := ReadLog(path, 0)
		if err != nil || l.Last != c.last || l.Size != int64(c.size) || l.Damaged != c.damaged || len(l.Entries) != int(c.last) {
			t.Errorf("%s: got last %d, %d bytes, %d damaged, %d entries, %v; want %+v", name, l.Last, l.Size, l.Damaged, len(l.Entries), err, c)
		}
	}
	if l, err := ReadLog(filepath.Join(t.TempDir(), "none"), 0); err != nil || l.Last != 0 {
		t.Errorf("no file: %+v, %v", l, err)
	}
}

// Entries that a rollback made void are not part of the log, and what was made of the steps later is.
func TestReadLog_Rollback(t *testing.T) {
	again := entryOf(3)
	again.Theta = "0123456789abcdef"
	text := lines(t, entryOf(1), entryOf(2), entryOf(3), entryOf(4), Event{Kind: EventQuarantine, Worker: "x"}, Event{Kind: EventRollback, Step: 2, Term: 8}, again)
	l, err := parseLog(strings.NewReader(text), 1)
	if err != nil || l.Last != 3 || len(l.Entries) != 2 || l.Entries[3].Theta != again.Theta || l.Term != 8 || len(l.Events) != 2 {
		t.Errorf("got %+v, %v", l, err)
	}
}

// The hash sees every bit and the order.
func TestHashTheta(t *testing.T) {
	theta := make([]float32, 1000)
	for i := range theta {
		theta[i] = float32(i) * 0.37
	}
	seen := map[string]int{HashTheta(theta): -1}
	for i := range theta {
		theta[i] = math.Float32frombits(math.Float32bits(theta[i]) ^ 1<<(i%32))
		h := HashTheta(theta)
		if at, ok := seen[h]; ok || len(h) != hashLength {
			t.Fatalf("%q at %d and %d", h, at, i)
		}
		seen[h] = i
	}
	if got, want := HashTheta([]float32{1, -2, 0.5}), "86739cf2332b058b"; got != want { // by another program
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzParseLog(f *testing.F) {
	text, err := json.Marshal(entryOf(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text) + "\n")
	f.Add(`{"event":"rollback","step":0}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseLog(strings.NewReader(text), 0)
		if err != nil || l.Size < 0 || l.Size > int64(len(text)) || l.Size > 0 && text[l.Size-1] != '\n' {
			t.Fatalf("%d of %d bytes, %v", l.Size, len(text), err)
		}
		again, err := parseLog(strings.NewReader(text[:l.Size]), 0)
		if err != nil || !reflect.DeepEqual(l, again) {
			t.Fatalf("cut to its length it is another log: %+v, %+v", l, again)
		}
	})
}

// Lines are synced within a second, in one sync for all that came meanwhile, and at once for a checkpoint.
func TestJournal_GroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		syncs := 0
		d := disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if a.Kind == "sync" {
				syncs++
			}
			return 0, nil
		})
		path := filepath.Join(t.TempDir(), "log.jsonl")
		j := startJournal(d, path, 0, func(err error) { t.Error(err) })
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return syncs
		}
		for step := uint64(1); step <= 100; step++ {
			j.append(entryOf(step))
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if n := count(); n < 1 || n > 2 {
			t.Errorf("%d syncs in two seconds", n)
		}
		j.append(entryOf(101))
		if err := j.flush(); err != nil {
			t.Fatal(err)
		}
		if l, err := ReadLog(path, 0); err != nil || l.Last != 101 {
			t.Errorf("got %+v, %v", l, err)
		}
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
		if err := j.flush(); !errors.Is(err, errJournalClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Whatever fails, at whatever byte, the lines are there once and in order when the disk works again.
func TestJournal_Failures(t *testing.T) {
	for _, kind := range []string{"append", "write", "sync", "sync folder"} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			broken := false
			told := []error{}
			d := disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				if broken && a.Kind == kind {
					return a.Bytes / 3, syscall.EIO
				}
				return 0, nil
			})
			path := filepath.Join(t.TempDir(), "log.jsonl")
			j := startJournal(d, path, 0, func(err error) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, err)
			})
			for step := uint64(1); step <= 200; step++ {
				mu.Lock()
				broken = step/20%2 == 0 // also at the start
				mu.Unlock()
				j.append(entryOf(step))
				time.Sleep(130 * time.Millisecond)
			}
			mu.Lock()
			broken = false
			mu.Unlock()
			if err := j.close(); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want []any
			for step := uint64(1); step <= 200; step++ {
				want = append(want, entryOf(step))
			}
			if string(text) != lines(t, want...) {
				t.Errorf("%s: the log is not what was appended", kind)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(told) == 0 || told[len(told)-1] != nil || !errors.Is(told[0], syscall.EIO) {
				t.Errorf("%s: told %v", kind, told)
			}
		})
	}
}

// A log that no disk takes does not fill the memory.
func TestJournal_Bounded(t *testing.T) {
	j := &journal{wake: make(chan struct{}, 1), pending: make([]byte, maxPending-10)}
	j.append(entryOf(1))
	if j.dropped != 1 || len(j.pending) != maxPending-10 {
		t.Errorf("%d dropped, %d bytes wait", j.dropped, len(j.pending))
	}
}

// A step's line costs two checksums of the parameters and an append in memory.
func BenchmarkLogStep(b *testing.B) {
	for _, size := range []int{200_000, 3_000_000} {
		b.Run(fmt.Sprint(size, " parameters"), func(b *testing.B) {
			j := startJournal(disk.System(), filepath.Join(b.TempDir(), "log.jsonl"), 0, func(err error) { b.Error(err) })
			theta := make([]float32, size)
			e := entryOf(1)
			b.ReportAllocs()
			for b.Loop() {
				e.Theta = HashTheta(theta)
				j.append(e)
			}
			if err := j.close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
