package scaling

import (
	"strings"
	"testing"
)

func TestAdvise(t *testing.T) {
	// Four workers, 4 MB of parameters and gradients: 32 MB through the link.
	slow := Sample{Seconds: 3.4, Compute: 0.2, Work: 0.8, BytesIn: 16e6, BytesOut: 4e6, Workers: 4}
	change := func(f func(*Sample)) Sample {
		s := slow
		f(&s)
		return s
	}
	for _, c := range []struct {
		name   string
		sample Sample
		habits Habits
		want   string
	}{
		{
			"link", slow,
			Habits{},
			"messages take 3.2 s of 3.4 s per step (32 MB, at about 80 Mbit/s): train.gradients=int16 would save about 0.8 s, " +
				"train.parameters=delta16 would save about 0.8 s, train.method=diloco with 16 local steps would save about 3 s, 1 worker instead of 4 would save about 1.8 s; see docs/scaling.md",
		},
		{
			"int16 already", slow,
			Habits{Integers: true, Differences: true},
			"messages take 3.2 s of 3.4 s per step (32 MB, at about 80 Mbit/s): train.gradients=float32 and train.method=diloco with 16 local steps would save about 3 s, " +
				"1 worker instead of 4 would save about 1.8 s; see docs/scaling.md",
		},
		{
			"nothing helps", change(func(s *Sample) { s.Workers, s.BytesIn, s.Work = 1, 4e6, 0.2 }),
			Habits{LocalSteps: true},
			"messages take 3.2 s of 3.4 s per step (8 MB, at about 20 Mbit/s); see docs/scaling.md",
		},
		{
			"minutes, and gigabytes", change(func(s *Sample) { s.Seconds, s.BytesIn = 120.2, 16e9 }),
			Habits{LocalSteps: true},
			"messages take 120 s of 120 s per step (16,016 MB, at about 1,068 Mbit/s): 1 worker instead of 4 would save about 89 s; see docs/scaling.md",
		},
		{"compute is the limit", change(func(s *Sample) { s.Compute = 1.8 }), Habits{}, ""},
		{"a short step", change(func(s *Sample) { s.Seconds, s.Compute = 0.02, 0.001 }), Habits{}, ""},
		{"no worker", change(func(s *Sample) { s.Workers, s.BytesIn = 0, 0 }), Habits{}, ""},
	} {
		if got, ok := Advise(c.sample, c.habits); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %q,\nwant %q", c.name, got, c.want)
		}
	}
}

func TestAdviser_SaysItOnce(t *testing.T) {
	var a Adviser
	steps := func(n int, s Sample) (said int) {
		for range n {
			if text, ok := a.Step(s); ok {
				said++
				if !strings.HasPrefix(text, "messages take ") {
					t.Errorf("it says %q", text)
				}
			}
		}
		return said
	}
	slow := Sample{Seconds: 1, Compute: 0.2, Work: 0.4, BytesIn: 8e6, BytesOut: 4e6, Workers: 2}
	fast, slower, more := slow, slow, slow
	fast.Seconds, slower.Seconds, more.Workers = 0.3, 2, 3
	for _, c := range []struct {
		name  string
		steps int
		s     Sample
		want  int
	}{
		{"too few", window - 1, slow, 0},
		{"other workers begin a new window", window - 1, more, 0},
		{"enough", 1, more, 1},
		{"the same", 10 * window, slow, 0},
		{"much slower", 2 * window, slower, 1},
		{"fast", 2 * window, fast, 0},
		{"as slow as it was told", window, slower, 0},
	} {
		if got := steps(c.steps, c.s); got != c.want {
			t.Errorf("%s: advice %d times, want %d", c.name, got, c.want)
		}
	}
}
