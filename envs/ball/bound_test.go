package ball

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// seen is the number of images before a prediction, as in the paper and in the protocol "pixels" of package eval.
const seen = 4

// oracle predicts images as well as anybody can who has seen the first four and knows the rules of this package: it
// draws flights from the prior, keeps those that give the same four images, and calls a pixel set that more than half
// of them set, which has the least expected number of wrong pixels (Bayes' decision).
type oracle struct {
	env    *Env
	stream rng.Stream
	starts [Size][]float64 // draws of a coordinate of the start, by the pixel nearest to it
}

func newOracle(env *Env, key rng.Key) *oracle {
	o := &oracle{env: env, stream: key.At(1, 0, 0)}
	for range 1 << 16 {
		x := start(&o.stream)
		pixel := int(math.Round(x))
		o.starts[pixel] = append(o.starts[pixel], x)
	}
	return o
}

// bounced is a coordinate after t images, of a ball that was at x with velocity v: a straight flight, folded at the walls.
func (o *oracle) bounced(x, v float64, t int) float64 {
	const room = high - low - 2*radius
	far := math.Mod(math.Abs(x+v*o.env.cfg.DT*float64(t)-low-radius), 2*room)
	return low + radius + min(far, 2*room-far)
}

// predict returns for each of the steps after the seen images how many of the kept flights set a pixel, and their number.
func (o *oracle) predict(x, y [seen]float64, steps, want int) (counts [][]int, kept int) {
	counts = make([][]int, steps)
	for i := range counts {
		counts[i] = make([]int, Size*Size)
	}
	image := make([]float32, Size*Size)
	pick := func(pixel float64) float64 {
		from := o.starts[int(pixel)]
		return from[int(o.stream.Uniform(0, float64(len(from))))]
	}
	for tries := 0; kept < want && tries < 1<<22; tries++ {
		x0, y0 := pick(x[0]), pick(y[0])
		speed := o.stream.Uniform(slowest, fastest)
		d := direction(&o.stream)
		same := true
		for t := 1; t < seen && same; t++ {
			same = math.Round(o.bounced(x0, speed*d.X, t)) == x[t] && math.Round(o.bounced(y0, speed*d.Y, t)) == y[t]
		}
		if !same {
			continue
		}
		kept++
		for i := range counts {
			o.env.Render(image, o.bounced(x0, speed*d.X, seen+i), o.bounced(y0, speed*d.Y, seen+i))
			for p, set := range image {
				counts[i][p] += int(set)
			}
		}
	}
	return counts, kept
}

// TestBound: four images of a ball at its nearest pixel do not tell its velocity well enough to predict every pixel. The
// least expected share of wrong pixels over 1, 5, 10 and 15 images is what docs/results/ball.md says, which has it of
// more episodes.
func TestBound(t *testing.T) {
	env, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	const steps, episodes, flights = 15, 120, 100
	key := rng.New(77, rng.Evaluation)
	o := newOracle(env, key)
	var wrong [steps]float64
	var e envs.Episode
	for i := range uint32(episodes) {
		env.Simulate(&e, key, i, seen+steps)
		var x, y [seen]float64
		for t := range seen {
			x[t], y[t] = math.Round(float64(e.States[4*t])), math.Round(float64(e.States[4*t+1]))
		}
		counts, kept := o.predict(x, y, steps, flights)
		if kept < flights {
			t.Fatalf("episode %d: %d flights with its images, want %d", i, kept, flights)
		}
		for s := range steps {
			for p, n := range counts[s] {
				truth := e.Observations[(seen+s)*Size*Size+p]
				if set := 2*n > kept; set != (truth == 1) {
					wrong[s]++
				}
			}
		}
	}
	want := map[int]float64{1: 0.0069, 5: 0.0095, 10: 0.0134, 15: 0.0170}
	sum := 0.0
	for s := range steps {
		sum += wrong[s] / (episodes * Size * Size)
		got := sum / float64(s+1)
		if w, has := want[s+1]; has && math.Abs(got-w) > 0.08*w {
			t.Errorf("over %d images %.4f of the pixels are wrong, want about %.4f", s+1, got, w)
		}
	}
}
