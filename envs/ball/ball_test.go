package ball_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/ball"
	"github.com/switchyard-ml/switchyard/envs/envtest"
	"github.com/switchyard-ml/switchyard/rng"
)

const pixels = ball.Size * ball.Size

func newEnv(t testing.TB, cfg ball.Config) *ball.Env {
	t.Helper()
	env, err := ball.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestConformance(t *testing.T) {
	envtest.Test(t, newEnv(t, ball.DefaultConfig()))
	t.Run("walls", func(t *testing.T) { envtest.Test(t, newEnv(t, ball.Config{DT: 1.7, Walls: true})) })
}

func TestEpisodes_Golden(t *testing.T) {
	envtest.Golden(t, newEnv(t, ball.DefaultConfig()), "7af077a5f0463e61cfdf21be1c26293451b72af1dbc6b23b2e63c7dcdc55806a")
	envtest.Golden(t, newEnv(t, ball.Config{DT: 1.7, Walls: true}), "138917e27714cd97c8cb6a4592b456d354728338fc5ce3051c2c84b12e88bd5a")
}

// wrong is the share of pixels that differ.
func wrong(a, b []float32) float64 {
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

// The targets were found with an independent simulator: what it costs to predict that frame 4 stays,
// to predict an empty image, and to be off by one or two pixels. The paper's model is wrong on .011
// to .021 of the pixels.
func TestCalibration(t *testing.T) {
	const episodes = 2000
	env := newEnv(t, ball.DefaultConfig())
	var e envs.Episode
	var still [16]float64
	var blank, meetings float64
	key := rng.New(1, rng.Episode)
	empty := make([]float32, pixels)
	frame := func(i int) []float32 { return e.Observations[(i-1)*pixels : i*pixels] }
	for index := range uint32(episodes) {
		env.Simulate(&e, key, index, 20)
		for k := range still {
			still[k] += wrong(frame(4), frame(4+k)) / episodes
		}
		blank += wrong(frame(20), empty) / episodes
		for t := 1; t < e.T; t++ {
			meetings += float64(e.Labels[3*t]) / (episodes * 19)
		}
	}
	within := func(what string, got, want float64) {
		t.Helper()
		t.Logf("%-22s target %.4f measured %.4f", what, want, got)
		if math.Abs(got-want) > 0.0005+1e-9 {
			t.Errorf("%s: %.4f, want %.4f ± 0.0005", what, got, want)
		}
	}
	within("frame 4 after 1 step", still[1], 0.032)
	within("frame 4 after 5 steps", still[5], 0.069)
	within("frame 4 after 10 steps", still[10], 0.070)
	within("frame 4 after 15 steps", still[15], 0.068)
	within("empty image", blank, 0.036)
	a, b := make([]float32, pixels), make([]float32, pixels)
	env.Render(a, 16, 16)
	for d, want := range map[float64]float64{1: 0.0137, 2: 0.0273} {
		env.Render(b, 16+d, 16)
		within(fmt.Sprintf("shift by %v", d), wrong(a, b), want)
	}
	// A ball that has been anywhere in the box and moves by s per step along an axis meets one of the
	// two walls with probability s/22; the mean of |cos| is 2/π. The product is the corners.
	s := 0.2 * 12.5 * 2 / math.Pi / 22
	if want := 2*s - 2*0.2*0.2*158.3/(2*math.Pi)/22/22; math.Abs(meetings/want-1) > 0.05 {
		t.Errorf("wall in %.4f of the steps, want %.4f ± 5 %%", meetings, want)
	}
}

// fold is where a straight way ends that is reflected at 5 and at 27.
func fold(x float64) float64 {
	x = math.Mod(math.Mod(x-5, 44)+44, 44)
	return 5 + min(x, 44-x)
}

// Motion along each axis is a triangular wave: the state of every frame follows from the first.
func TestSimulate_IsTheUnfoldedFlight(t *testing.T) {
	env := newEnv(t, ball.Config{DT: 0.7})
	var e envs.Episode
	bounces := 0
	for index := range uint32(50) {
		env.Simulate(&e, rng.New(2, rng.Episode), index, 60)
		s := e.States
		for i := 1; i < e.T; i++ {
			for axis := range 2 {
				want := fold(float64(s[axis]) + float64(s[2+axis])*0.7*float64(i))
				if got := float64(s[4*i+axis]); math.Abs(got-want) > 1e-4 { // the first state is rounded to float32
					t.Fatalf("episode %d, frame %d, axis %d: %v, want %v", index, i, axis, got, want)
				}
			}
			bounces += int(e.Labels[3*i])
			either := max(e.Labels[3*i+1], e.Labels[3*i+2])
			if e.Labels[3*i] != either {
				t.Fatalf("episode %d, frame %d: labels %v", index, i, e.Labels[3*i:3*i+3])
			}
			for axis := range 2 { // in 0.7 s a ball cannot come back to the same wall
				turned := s[4*i+2+axis] != s[4*i-2+axis]
				if hit := e.Labels[3*i+1+axis] == 1; turned != hit {
					t.Fatalf("episode %d, frame %d: labels %v, velocity along axis %d changed: %v", index, i, e.Labels[3*i:3*i+3], axis, turned)
				}
			}
		}
	}
	if bounces == 0 {
		t.Error("no ball met a wall")
	}
}

func TestSimulate_ImagesShowTheState(t *testing.T) {
	for _, walls := range []bool{false, true} {
		env := newEnv(t, ball.Config{DT: 0.2, Walls: walls})
		var e envs.Episode
		env.Simulate(&e, rng.New(3, rng.Episode), 0, 40)
		for i := range e.T {
			cx, cy := math.Round(float64(e.States[4*i])), math.Round(float64(e.States[4*i+1]))
			for p := range pixels {
				x, y := p%32, p/32
				dx, dy := float64(x)-cx, float64(y)-cy
				inside := x >= 2 && x <= 30 && y >= 2 && y <= 30
				want := dx*dx+dy*dy <= 12 || walls && inside && (x == 2 || x == 30 || y == 2 || y == 30)
				if got := e.Observations[i*pixels+p]; got != 0 && got != 1 || (got == 1) != want {
					t.Fatalf("frame %d, pixel (%d, %d) = %v, want %v", i, x, y, got, want)
				}
			}
		}
	}
}

func TestSimulate_Starts(t *testing.T) {
	env := newEnv(t, ball.DefaultConfig())
	var e envs.Episode
	const n = 20000
	var octants [8]float64
	var speed, inner float64
	for index := range uint32(n) {
		env.Simulate(&e, rng.New(4, rng.Episode), index, 1)
		x, y, vx, vy := float64(e.States[0]), float64(e.States[1]), float64(e.States[2]), float64(e.States[3])
		v := math.Hypot(vx, vy)
		if x < 6 || x > 26 || y < 6 || y > 26 || v < 9.999 || v > 15.001 {
			t.Fatalf("episode %d starts at (%v, %v) with speed %v", index, x, y, v)
		}
		speed += v / n
		octants[int(4+math.Floor(math.Atan2(vy, vx)/(math.Pi/4)))%8]++
		if x > 6 && x < 26 {
			inner += 1. / n
		}
	}
	var chi float64
	for _, c := range octants {
		chi += (c - n/8) * (c - n/8) / (n / 8)
	}
	if chi > 30 { // 7 degrees of freedom: one in 10,000
		t.Errorf("directions are not uniform: χ² = %.1f for %v", chi, octants)
	}
	if math.Abs(speed-12.5) > 0.05 || math.Abs(inner-0.6827) > 0.017 { // five standard errors
		t.Errorf("mean speed %.3f, want 12.5; share of starts not clipped %.4f, want 0.6827", speed, inner)
	}
}

func TestNew_RefusesAStepThatIsNone(t *testing.T) {
	for _, dt := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := ball.New(ball.Config{DT: dt}); !errors.Is(err, ball.ErrConfig) {
			t.Errorf("DT = %v: err = %v, want ErrConfig", dt, err)
		}
	}
}

func BenchmarkSimulate(b *testing.B) {
	env := newEnv(b, ball.DefaultConfig())
	var e envs.Episode
	key := rng.New(1, rng.Episode)
	for b.Loop() {
		env.Simulate(&e, key, 1, 20)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20, "ns/step")
}
