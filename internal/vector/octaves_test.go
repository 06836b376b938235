package vector

import (
	"reflect"
	"testing"
)

func TestCountOctaves(t *testing.T) {
	for _, c := range []struct {
		values []float32
		want   Octaves
	}{
		{nil, Octaves{Counts: []int{}}},
		{[]float32{0, 0, 1e-40}, Octaves{Zero: 3, Counts: []int{}}},
		{[]float32{1, -1.99, 2, 0.25, 0}, Octaves{Zero: 1, First: -2, Counts: []int{1, 0, 2, 1}}},
		{[]float32{0x1p-126, -0x1.8p127}, Octaves{First: -126, Counts: append(append([]int{1}, make([]int, 252)...), 1)}},
	} {
		if got := CountOctaves(c.values); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %+v, want %+v", c.values, got, c.want)
		}
	}
}
