package maze

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/planar"
	"github.com/switchyard-ml/switchyard/rng"
)

const (
	// MaxBalls is the largest number of agents.
	MaxBalls = 32
	// subStep is the longest step of the integrator, in seconds.
	subStep = 1.0 / 160
	// minFree is the smallest share of the square that must be free for an agent to start, wherever the others are: its
	// place is found by trial and error.
	minFree = 0.05
)

// Config holds the geometry and the constants. Start from A or B, because a zero is not replaced by a default.
type Config struct {
	Balls        int          // agents, 1 to MaxBalls
	DT           float64      // seconds per step
	Radius       float64      // of an agent
	Walls        []planar.Box // inside the square [−1, 1]²
	Acceleration float64      // a_max, of a control of 1, per second²
	Damping      float64      // c, per second
	Restitution  float64      // e, from 0 to 1
	StartSpeed   float64      // v starts uniformly in [−StartSpeed, StartSpeed)², per second
}

// ErrConfig is returned for constants that do not describe a maze.
var ErrConfig = errors.New("maze: invalid constants")

// Env is the maze as an environment. It is immutable.
type Env struct {
	cfg   Config
	world *planar.World
	spec  envs.Spec
}

var (
	_ envs.Env    = (*Env)(nil)
	_ envs.Probed = (*Env)(nil)
)

// New returns the maze of cfg, or all faults of cfg wrapped in ErrConfig. It keeps no reference to cfg.Walls.
func New(cfg Config) (*Env, error) {
	world, err := planar.New(planar.Config{
		Arena:  planar.Box{Min: planar.Vec{X: -1, Y: -1}, Max: planar.Vec{X: 1, Y: 1}},
		Walls:  cfg.Walls,
		Radius: cfg.Radius, Restitution: cfg.Restitution, Damping: cfg.Damping, SubStep: subStep,
	})
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := errors.Join(err, cfg.validate()); err != nil {
		return nil, err
	}
	cfg.Walls = nil
	e := &Env{cfg: cfg, world: world, spec: envs.Spec{
		Name: "maze", Observation: 2 * cfg.Balls, Control: 2 * cfg.Balls, State: 4 * cfg.Balls,
		Labels: labels(cfg.Balls), DT: cfg.DT,
	}}
	if !e.roomy() {
		return nil, fmt.Errorf("%w: no room for %d agents of radius %v", ErrConfig, cfg.Balls, cfg.Radius)
	}
	return e, nil
}

// validate returns the faults of what package planar does not check itself, wrapped in ErrConfig.
func (c Config) validate() error {
	faults := envs.Constants{Fault: ErrConfig}
	faults.Check("Balls", float64(c.Balls), c.Balls >= 1 && c.Balls <= MaxBalls)
	faults.Check("DT", c.DT, c.DT > 0)
	faults.Check("Acceleration", c.Acceleration, c.Acceleration >= 0)
	faults.Check("StartSpeed", c.StartSpeed, c.StartSpeed >= 0)
	return faults.Err()
}

// labels are the names of the columns, kind by kind, and agent by agent from 1.
func labels(balls int) []string {
	var names []string
	for _, kind := range []string{"wall", "vertical", "horizontal", "ball"} {
		for i := range balls {
			names = append(names, fmt.Sprintf("%s%d", kind, i+1))
		}
	}
	return names
}

// crowding is the largest share of the square that the other agents can take from the last one. Each of them keeps
// centres out of a disc of two radii; the square has the area 4.
func (e *Env) crowding() float64 {
	reach := 2 * e.cfg.Radius
	return float64(e.cfg.Balls-1) * math.Pi * float64(reach*reach) / 4
}

// roomy is true if the last agent has room in at least a share minFree of the square, looked at on a grid: where it is
// free for a single agent, less what the others may take. The grid has 200×200 points; it stops once enough are free.
func (e *Env) roomy() bool {
	const n = 200
	free, enough := 0, int(math.Ceil((minFree+e.crowding())*n*n))
	for i := 0; i < n*n && free < enough; i++ {
		if e.world.Free(planar.Vec{X: (float64(2*(i%n)) + 1 - n) / n, Y: (float64(2*(i/n)) + 1 - n) / n}, nil) {
			free++
		}
	}
	return free >= enough
}

// Spec returns the dimensions: per agent two observations, two controls, four states and four labels.
func (e *Env) Spec() envs.Spec { return e.spec }

// Walls returns the inner walls as they are simulated. The caller owns the result.
func (e *Env) Walls() []planar.Box { return e.world.Walls() }

// Radius is that of an agent.
func (e *Env) Radius() float64 { return e.cfg.Radius }

// NearWalls reports whether a point is within reach of a wall that stops motion along x, and of one that stops motion
// along y; the borders of the square are walls.
func (e *Env) NearWalls(x, y, reach float64) (vertical, horizontal bool) {
	vertical, horizontal = 1-math.Abs(x) <= reach, 1-math.Abs(y) <= reach
	for _, w := range e.world.Walls() {
		beside := y >= w.Min.Y && y <= w.Max.Y
		above := x >= w.Min.X && x <= w.Max.X
		vertical = vertical || beside && (math.Abs(x-w.Min.X) <= reach || math.Abs(x-w.Max.X) <= reach)
		horizontal = horizontal || above && (math.Abs(y-w.Min.Y) <= reach || math.Abs(y-w.Max.Y) <= reach)
	}
	return vertical, horizontal
}

// Probes are the velocities of the agents, the walls and agents that each of them met, and where they are.
func (e *Env) Probes() envs.Probes {
	var p envs.Probes
	n := e.cfg.Balls
	for i := range n {
		p.Rates = append(p.Rates, envs.Column{Name: fmt.Sprintf("vx%d", i+1), Unit: "1/s", Index: 2 * (n + i)},
			envs.Column{Name: fmt.Sprintf("vy%d", i+1), Unit: "1/s", Index: 2*(n+i) + 1})
		p.Contacts = append(p.Contacts, i)
		if n > 1 {
			p.Encounters = append(p.Encounters, 3*n+i)
		}
		p.Bodies = append(p.Bodies, [2]int{2 * i, 2*i + 1})
	}
	return p
}

// Simulate fills dst as the contract of envs.Env says. The state is carried in float64 and rounded to
// float32 for the episode; a control is rounded before it acts. Random numbers are consumed in the
// order positions (agent by agent, until there is room), velocities, u_1, u_2, … of one stream per episode.
func (e *Env) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.spec, T)
	s := key.At(0, 0, index)
	var store [MaxBalls]planar.Disc
	balls := store[:e.cfg.Balls]
	e.start(balls, &s)
	n := e.spec.Control
	for t := range T {
		u := dst.Controls[t*n : (t+1)*n]
		if t == 0 {
			clear(u)
		} else {
			e.act(balls, u, &s)
			e.world.Step(balls, e.cfg.DT)
		}
		e.record(dst, t, balls)
	}
}

// start places the agents uniformly where they have room. Velocities are drawn once all have a place. New has made
// sure that there is room.
func (e *Env) start(balls []planar.Disc, s *rng.Stream) {
	for i := range balls {
		p := &balls[i].P
		for *p = place(s); !e.world.Free(*p, balls[:i]); {
			*p = place(s)
		}
	}
	for i := range balls {
		v := e.cfg.StartSpeed
		balls[i].V.X = s.Uniform(-v, v)
		balls[i].V.Y = s.Uniform(-v, v)
	}
}

// place draws a point uniformly in the square, x before y.
func place(s *rng.Stream) planar.Vec {
	x := s.Uniform(-1, 1)
	return planar.Vec{X: x, Y: s.Uniform(-1, 1)}
}

// act draws the controls and sets the accelerations. A control acts as the float32 that the episode holds, so that
// the episode alone explains its motion.
func (e *Env) act(balls []planar.Disc, u []float32, s *rng.Stream) {
	for i := range balls {
		x, y := float32(s.Uniform(-1, 1)), float32(s.Uniform(-1, 1))
		u[2*i], u[2*i+1] = x, y
		balls[i].A = planar.Vec{X: e.cfg.Acceleration * float64(x), Y: e.cfg.Acceleration * float64(y)}
	}
}

// record writes step t of an episode: positions, velocities, and what each agent met since the step before.
func (e *Env) record(dst *envs.Episode, t int, balls []planar.Disc) {
	n := len(balls)
	state := dst.States[4*n*t : 4*n*(t+1)]
	labels := dst.Labels[4*n*t : 4*n*(t+1)]
	for i := range balls {
		b := &balls[i]
		state[2*i], state[2*i+1] = float32(b.P.X), float32(b.P.Y)
		state[2*n+2*i], state[2*n+2*i+1] = float32(b.V.X), float32(b.V.Y)
		labels[i] = envs.Indicator(b.Hit&planar.AnyWall != 0)
		labels[n+i] = envs.Indicator(b.Hit&planar.VerticalWall != 0)
		labels[2*n+i] = envs.Indicator(b.Hit&planar.HorizontalWall != 0)
		labels[3*n+i] = envs.Indicator(b.Hit&planar.OtherDisc != 0)
	}
	copy(dst.Observations[2*n*t:], state[:2*n])
}
