package bench

import (
	"bytes"
	"io"
	"math"
	"sync"
	"testing"
)

// TestProfile: the parts add up, and a part whose goroutine does the work has most of it.
func TestProfile(t *testing.T) {
	var profile bytes.Buffer
	turn := func(n int) (x float64) {
		for i := range n {
			x += math.Sqrt(float64(i))
		}
		return x
	}
	var sums [2]float64
	got, err := Profile(&profile, func() error {
		var all sync.WaitGroup
		for i, name := range []string{"much", "little"} {
			As(name, func() {
				all.Go(func() { sums[i] = turn(400_000_000 >> (3 * i)) })
			})
		}
		all.Wait()
		return nil
	})
	if err != nil || sums[0] < sums[1] {
		t.Fatal(err, sums)
	}
	sum := 0.0
	for _, share := range got {
		sum += share
	}
	if ok := math.Abs(sum-1) < 1e-9 && got["much"] > 3*got["little"] && got["little"] > 0 && got[""] < 0.3; !ok {
		t.Errorf("got %v", got)
	}
	for cut := range 20 {
		if _, err := parts(bytes.NewReader(profile.Bytes()[:profile.Len()*cut/20])); err == nil {
			t.Errorf("a profile of which %d twentieths are there is read", cut)
		}
	}
	if _, err := Profile(failing{}, func() error { return nil }); err == nil {
		t.Error("a profile that was not written is no error")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
