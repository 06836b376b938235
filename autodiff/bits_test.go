package autodiff

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

var update = flag.Bool("update", false, "rewrite testdata/operations.txt")

// TestBits: what every operation computes, values and gradients, has the same bits on every instruction set, build tag
// and architecture. A line changes only when the arithmetic of its operation does, and then every run that uses it
// changes with it.
func TestBits(t *testing.T) {
	path := filepath.Join("testdata", "operations.txt")
	eachISA(t, func(t *testing.T) {
		var b strings.Builder
		for _, test := range opTests {
			fmt.Fprintf(&b, "%016x %s\n", bitsOf(test), test.name)
		}
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for got := range strings.Lines(b.String()) {
			if !strings.Contains(string(want), got) {
				t.Errorf("got %s", got)
			}
		}
		if strings.Count(string(want), "\n") != len(opTests) {
			t.Errorf("%s does not have a line for each of %d operations", path, len(opTests))
		}
	})
}

// eachISA runs f under every instruction set of this machine and build.
func eachISA(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	active := kernel.Active()
	defer func() {
		if err := kernel.Use(active); err != nil {
			t.Fatal(err)
		}
	}()
	for _, isa := range kernel.Available() {
		if err := kernel.Use(isa); err != nil {
			t.Fatal(err)
		}
		t.Run(isa.String(), f)
	}
}

// bitsOf is a hash of the value of an operation and of its gradients.
func bitsOf(test opTest) uint64 {
	s := newSetting(test)
	tape := NewTape(s.params)
	in, y := s.record(tape, tape.New)
	tape.Backward(y)
	h := sha256.New()
	add := func(x []float32) {
		for _, v := range x {
			if v != v {
				panic("a NaN in " + test.name)
			}
			var word [4]byte
			binary.LittleEndian.PutUint32(word[:], math.Float32bits(v))
			h.Write(word[:])
		}
	}
	for _, r := range tape.records {
		if d, ok := r.(*dotRecord); ok { // its sum alone would hide a bit of an element
			add(d.x.Value)
		}
	}
	add(y.Value)
	add(tape.Gradient)
	for _, x := range in {
		add(x.Grad)
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
