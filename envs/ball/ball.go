// Package ball films a ball in a box: binary images of a disc that flies straight and bounces off
// four walls, without gravity, friction or controls. Becker-Ehmck et al. 2019, section "Image ball
// in a box", with the constants of the data set that it takes over (Fraccaro et al. 2017, script
// box.py): an image is taken before every step, of the ball at its nearest pixel.
//
//	array        | holds
//	observations | 32×32 pixels, row by row, 0 or 1; y grows from row to row
//	controls     | none
//	states       | x y vx vy, in pixels and pixels per second, not rounded to pixels
//	labels       | wall, vertical, horizontal: 1 if during the step into t the ball met any wall, one
//	             | that stops motion along x, one that stops motion along y; zero at t = 0
//
// The walls stand at 2 and 30 pixels, so the centre of the ball, of radius 3, stays within [5, 27]².
// Unlike the original, impacts are exact, and the state is that of its own image, not of the next.
package ball

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/planar"
	"github.com/switchyard-ml/switchyard/rng"
)

// Size is the number of rows and of columns of an image. A pixel has the length 1; its middle has whole coordinates.
const Size = 32

const (
	low, high = 2, 30 // walls
	radius    = 3
	middle    = Size / 2
	startSD   = 10   // of the start about the middle, per axis
	startGap  = 1    // of the start to the walls, at least
	slowest   = 10.0 // pixels per second
	fastest   = 15.0 // pixels per second
)

// Config holds what may be varied. Start from DefaultConfig, because a zero is not replaced by a default.
type Config struct {
	DT    float64 // seconds between two images; default 0.2, in which the ball moves by 2 to 3 pixels
	Walls bool    // draw the walls, as the original script does; default false
}

// DefaultConfig is the setting of the paper.
func DefaultConfig() Config { return Config{DT: 0.2} }

// ErrConfig is returned for a time step that is none.
var ErrConfig = errors.New("ball: invalid time step")

// Env is the ball in its box as an environment. It is immutable.
type Env struct {
	cfg   Config
	world *planar.World
	spec  envs.Spec
}

var (
	_ envs.Env      = (*Env)(nil)
	_ envs.Pictured = (*Env)(nil)
	_ envs.Probed   = (*Env)(nil)
)

// New returns the environment of cfg, or ErrConfig for a time step that is not positive and finite. The world has no
// sub-steps: without forces a step is exact.
func New(cfg Config) (*Env, error) {
	if !(cfg.DT > 0) || math.IsInf(cfg.DT, 0) {
		return nil, fmt.Errorf("%w: DT = %v", ErrConfig, cfg.DT)
	}
	world, err := planar.New(planar.Config{
		Arena:  planar.Box{Min: planar.Vec{X: low, Y: low}, Max: planar.Vec{X: high, Y: high}},
		Radius: radius, Restitution: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("ball: build the box: %w", err)
	}
	return &Env{cfg, world, envs.Spec{
		Name: "ball", Observation: Size * Size, State: 4,
		Labels: []string{"wall", "vertical", "horizontal"}, DT: cfg.DT,
	}}, nil
}

// Spec returns the dimensions: 1024 observations, four states, three labels.
func (e *Env) Spec() envs.Spec { return e.spec }

// Simulate fills dst as the contract of envs.Env says. The state is carried in float64 and rounded to float32 for the
// episode. Random numbers are consumed in the order x, y, direction, speed of one stream per episode.
func (e *Env) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.spec, T)
	s := key.At(0, 0, index)
	var store [1]planar.Disc
	balls := store[:]
	b := &balls[0]
	b.P.X = start(&s)
	b.P.Y = start(&s)
	direction := direction(&s)
	speed := s.Uniform(slowest, fastest)
	b.V = planar.Vec{X: speed * direction.X, Y: speed * direction.Y}
	for t := range T {
		if t > 0 {
			e.world.Step(balls, e.cfg.DT)
		}
		e.Render(dst.Observations[t*Size*Size:(t+1)*Size*Size], b.P.X, b.P.Y)
		state, label := dst.States[4*t:4*t+4], dst.Labels[3*t:3*t+3]
		state[0], state[1] = float32(b.P.X), float32(b.P.Y)
		state[2], state[3] = float32(b.V.X), float32(b.V.Y)
		label[0] = envs.Indicator(b.Hit&planar.AnyWall != 0)
		label[1] = envs.Indicator(b.Hit&planar.VerticalWall != 0)
		label[2] = envs.Indicator(b.Hit&planar.HorizontalWall != 0)
	}
}

// start draws one coordinate of where the ball starts: N(16, 10²), cut to [6, 26].
func start(s *rng.Stream) float64 {
	const edge = radius + startGap
	return min(max(middle+float64(startSD*s.Normal()), low+edge), high-edge)
}

// direction draws a unit vector uniformly: it draws points of the square until one lies in the unit disc, and scales it
// to length 1. This takes only a square root; sine and cosine of an angle would not have the same bits everywhere.
// Points near the centre are left out, because rounding makes their directions coarse.
func direction(s *rng.Stream) planar.Vec {
	for {
		x := s.Uniform(-1, 1)
		y := s.Uniform(-1, 1)
		if square := float64(x*x) + float64(y*y); square <= 1 && square > 1e-6 {
			n := math.Sqrt(square)
			return planar.Vec{X: x / n, Y: y / n}
		}
	}
}

// Render draws the ball with its centre at (x, y) into image, Size×Size pixels row by row: the 37 pixels within √12 of
// the pixel nearest to the centre, and the walls if the configuration asks for them. It panics unless the ball is
// inside the image.
func (e *Env) Render(image []float32, x, y float64) {
	clear(image[:Size*Size])
	if e.cfg.Walls {
		for i := low; i <= high; i++ {
			image[low*Size+i], image[high*Size+i] = 1, 1
			image[i*Size+low], image[i*Size+high] = 1, 1
		}
	}
	column, row := int(math.Floor(x+0.5)), int(math.Floor(y+0.5))
	for dy := -radius; dy <= radius; dy++ {
		wide := widths[max(dy, -dy)]
		line := image[(row+dy)*Size:]
		for i := column - wide; i <= column+wide; i++ {
			line[i] = 1
		}
	}
}

// widths is how far the disc dx² + dy² ≤ 12 extends to either side, for each |dy|.
var widths = [radius + 1]int{3, 3, 2, 1}

// Probes are the velocities, and whether the ball met a wall. A single image shows no velocity.
func (e *Env) Probes() envs.Probes {
	return envs.Probes{
		Rates:    []envs.Column{{Name: "vx", Unit: "pixels/s", Index: 2}, {Name: "vy", Unit: "pixels/s", Index: 3}},
		Contacts: []int{0},
	}
}

// Image is the size of an observation.
func (e *Env) Image() [3]int { return [3]int{Size, Size, 1} }
