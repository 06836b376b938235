package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

func state(step uint64, best uint64) *Checkpoint {
	cp := &Checkpoint{Run: "r", Seed: 7, Term: 2, Step: step, Validated: best, BestStep: best, BestLoss: 1.5, LeftOut: new(step - best)}
	var m, v []float32
	for i := range 6 {
		x := float32(step) + float32(i)/8
		cp.Theta, m, v = append(cp.Theta, x), append(m, -x), append(v, x*x)
	}
	cp.Moments = []Moment{{Name: "adam.m", Values: m}, {Name: "adam.v", Values: v}}
	return cp
}

var layout = []Tensor{{Name: "a/w", Shape: []int{2, 2}, Size: 4}, {Name: "a/b", Shape: []int{2}, Offset: 4, Size: 2}}

func save(t *testing.T, s *Store, cp *Checkpoint, best bool) {
	t.Helper()
	if err := errors.Join(s.Write(cp, best), s.Prune()); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, strings.ReplaceAll(e.Name(), "step-00000000", ""))
	}
	return strings.Join(list, " ")
}

func sameMoment(a, b Moment) bool { return a.Name == b.Name && slices.Equal(a.Values, b.Values) }

// A checkpoint keeps the running norm and the average of the parameters, in a format that older programs refuse. The
// average stands for the parameters in an evaluation, and changes no params_sha256.
func TestStore_AverageAndNorm(t *testing.T) {
	s := &Store{Dir: t.TempDir(), Layout: layout}
	want := state(3, 0)
	plain := Hash(want.Theta)
	if got := want.Evaluated(); &got[0] != &want.Theta[0] {
		t.Errorf("without an average %v is evaluated", got)
	}
	average := []float32{6, 5, 4, 3, 2, 1}
	want.Moments = append(want.Moments, Moment{"adam.norm", []float32{4.5}}, Moment{Average, average}, Moment{"adam.retreat", []float32{3, 1}})
	save(t, s, want, false)
	cp, _, err := Restore(s.Dir)
	if err != nil || !slices.Equal(cp.Theta, want.Theta) || !slices.EqualFunc(cp.Moments, want.Moments, sameMoment) {
		t.Fatalf("read %+v, %v", cp, err)
	}
	if !slices.Equal(cp.Evaluated(), average) || cp.ParamsSHA256 != plain {
		t.Errorf("%v is evaluated, params_sha256 %s, want %s", cp.Evaluated(), cp.ParamsSHA256, plain)
	}
	man, err := readManifest(cp.Path)
	if err != nil || man.Format != 4 {
		t.Errorf("format %d, %v", man.Format, err)
	}
}

// A checkpoint of another optimiser names its moments, in a format that older programs refuse.
func TestStore_OtherMoments(t *testing.T) {
	s := &Store{Dir: t.TempDir(), Layout: layout}
	want := state(3, 0)
	want.Moments = []Moment{{Name: "outer.velocity", Values: want.Moments[0].Values}}
	save(t, s, want, false)
	cp, _, err := Restore(s.Dir)
	if err != nil || !slices.Equal(cp.Theta, want.Theta) || !slices.EqualFunc(cp.Moments, want.Moments, sameMoment) {
		t.Errorf("got %+v, %v, want %+v", cp, err, want)
	}
	for _, c := range []struct {
		cp     *Checkpoint
		format string
	}{{want, `"format": 3`}, {state(4, 0), `"format": 2`}} {
		save(t, s, c.cp, false)
		if text, err := os.ReadFile(c.cp.Path); err != nil || !strings.Contains(string(text), c.format) {
			t.Errorf("%s is not in %s, %v", c.format, text, err)
		}
	}
}

func TestStore_RoundTripAndRetention(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	s := &Store{Dir: dir, Layout: layout}
	for step := uint64(1); step <= 5; step++ {
		save(t, s, state(step, min(step, 2)), step <= 2)
	}
	if got, want := names(t, dir), "best.json 02.json 02.safetensors 04.json 04.safetensors 05.json 05.safetensors"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	cp, skipped, err := Restore(dir)
	if err != nil || len(skipped) > 0 {
		t.Fatal(err, skipped)
	}
	want := state(5, 2)
	if cp.Step != 5 || cp.Run != "r" || cp.Seed != 7 || cp.Term != 2 || cp.BestStep != 2 || cp.BestLoss != 1.5 || cp.Validated != 2 ||
		cp.LeftOut == nil || *cp.LeftOut != 3 ||
		!slices.Equal(cp.Theta, want.Theta) || !slices.EqualFunc(cp.Moments, want.Moments, sameMoment) {
		t.Errorf("got %+v, want %+v", cp, want)
	}
	if best, err := RestoreBest(dir); err != nil || best.Step != 2 {
		t.Errorf("best: %+v, %v", best, err)
	}
}

// The file is what the safetensors format says.
func TestStore_Safetensors(t *testing.T) {
	var buf bytes.Buffer
	n, _, err := state(3, 0).write(&buf, layout)
	if err != nil || n != int64(buf.Len()) {
		t.Fatalf("%d bytes of %d, %v", n, buf.Len(), err)
	}
	head := binary.LittleEndian.Uint64(buf.Bytes())
	if head%8 != 0 {
		t.Errorf("header of %d bytes", head)
	}
	var header map[string]struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets []int  `json:"data_offsets"`
	}
	if err := json.Unmarshal(buf.Bytes()[8:8+head], &header); err != nil {
		t.Fatal(err)
	}
	body := buf.Bytes()[8+head:]
	b := header["a/b"]
	if b.DType != "F32" || !slices.Equal(b.Shape, []int{2}) || !slices.Equal(b.Offsets, []int{16, 24}) {
		t.Errorf("got %+v", b)
	}
	if x, want := body[b.Offsets[0]:b.Offsets[1]], []byte{0, 0, 0x60, 0x40, 0, 0, 0x68, 0x40}; !bytes.Equal(x, want) { // 3.5, 3.625
		t.Errorf("got % x, want % x", x, want)
	}
	if v := header["adam.v"]; !slices.Equal(v.Offsets, []int{48, 72}) || len(body) != 72 {
		t.Errorf("got %+v of %d bytes", v, len(body))
	}
}

// Every way to damage the newest checkpoint is noticed, told with file and reason, and the one before is used.
func TestRestore_Damaged(t *testing.T) {
	damages := map[string]struct {
		file   string
		reason string
		damage func([]byte) []byte
	}{
		"torn data":     {"step-0000000002.safetensors", "bytes", func(b []byte) []byte { return b[:len(b)/2] }},
		"flipped bit":   {"step-0000000002.safetensors", "SHA-256", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }},
		"data missing":  {"step-0000000002.safetensors", "no such file", nil},
		"torn manifest": {"step-0000000002.json", "manifest", func(b []byte) []byte { return b[:len(b)/2] }},
		"empty":         {"step-0000000002.json", "manifest", func([]byte) []byte { return nil }},
		"other file": {"step-0000000002.json", "file", func(b []byte) []byte {
			return bytes.Replace(b, []byte("step-0000000002"), []byte("step-0000000001"), 1)
		}},
		"absurd size": {"step-0000000002.json", "parameters", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"parameters": 6`), []byte(`"parameters": 900000000000000`), 1)
		}},
		"other parameters": {"step-0000000002.json", "parameters have SHA-256", func(b []byte) []byte {
			return bytes.Replace(b, []byte(Hash(state(2, 0).Theta)), bytes.Repeat([]byte("0"), 64), 1)
		}},
		"later format": {"step-0000000002.json", "format", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"format": 2`), []byte(`"format": 4`), 1)
		}},
	}
	for name, d := range damages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := &Store{Dir: dir}
			save(t, s, state(1, 0), false)
			save(t, s, state(2, 0), false)
			path := filepath.Join(dir, d.file)
			if d.damage == nil {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, d.damage(b), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cp, skipped, err := Restore(dir)
			if err != nil || cp.Step != 1 || len(skipped) != 1 {
				t.Fatalf("got %+v, %v, %v", cp, skipped, err)
			}
			if text := skipped[0].Error(); !strings.Contains(text, "step-0000000002") || !strings.Contains(text, d.reason) {
				t.Errorf("%q does not tell file and reason %q", text, d.reason)
			}
			if err := os.Remove(filepath.Join(dir, "step-0000000001.safetensors")); err != nil {
				t.Fatal(err)
			}
			if _, _, err := Restore(dir); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), d.reason) {
				t.Errorf("nothing is valid: got %v", err)
			}
		})
	}
	if _, _, err := Restore(t.TempDir()); !errors.Is(err, ErrNotFound) {
		t.Errorf("empty folder: got %v", err)
	}
	if _, _, err := Restore(filepath.Join(t.TempDir(), "none")); !errors.Is(err, ErrNotFound) {
		t.Errorf("no folder: got %v", err)
	}
	if _, err := RestoreBest(t.TempDir()); !errors.Is(err, ErrNotFound) {
		t.Errorf("no best: got %v", err)
	}
}

// fullDisk has room for a number of bytes.
func fullDisk(room int) disk.Disk {
	return disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
		if left := room; a.Bytes > left {
			room = 0
			return left, syscall.ENOSPC
		}
		room -= a.Bytes
		return 0, nil
	})
}

// However early the disk is full, the error says so and the checkpoint of before stays the newest valid one.
func TestStore_DiskFull(t *testing.T) {
	var size int
	for room := 0; ; room += 37 {
		dir := t.TempDir()
		s := &Store{Dir: dir}
		save(t, s, state(1, 1), true)
		s.Disk = fullDisk(room)
		err := s.Write(state(2, 2), true)
		if err == nil {
			break
		}
		size = room
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "step 2") {
			t.Errorf("room %d: got %v", room, err)
		}
		cp, _, err := Restore(dir)
		if err != nil {
			t.Fatalf("room %d: %v", room, err)
		}
		if written := strings.Contains(names(t, dir), "02.json"); written != (cp.Step == 2) || cp.Step < 1 {
			t.Errorf("room %d: step %d is the newest of %s", room, cp.Step, names(t, dir))
		}
		if best, err := RestoreBest(dir); err != nil || best.Step != 1 {
			t.Errorf("room %d: best %+v, %v", room, best, err)
		}
		if strings.Contains(names(t, dir), ".tmp") {
			t.Errorf("room %d: left behind: %s", room, names(t, dir))
		}
	}
	if size < 500 {
		t.Errorf("the disk was full only up to %d bytes", size)
	}
}
