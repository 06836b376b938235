package maze

import "github.com/switchyard-ml/switchyard/envs/planar"

// thickness of every inner wall.
const thickness = 0.04

// vertical is a wall along y from low to high, with its middle at x.
func vertical(x, low, high float64) planar.Box {
	return planar.Box{Min: planar.Vec{X: x - thickness/2, Y: low}, Max: planar.Vec{X: x + thickness/2, Y: high}}
}

// horizontal is a wall along x from low to high, with its middle at y.
func horizontal(y, low, high float64) planar.Box {
	return planar.Box{Min: planar.Vec{X: low, Y: y - thickness/2}, Max: planar.Vec{X: high, Y: y + thickness/2}}
}

// A returns layout A with its constants: per step of 0.05 s, a control changes the velocity by up to
// 1.04 per second, which moves an agent by 0.052; 14 % of a velocity are lost.
func A() Config {
	return Config{
		Balls: 3, DT: 0.05, Radius: 0.06,
		Walls: []planar.Box{
			vertical(-0.35, -1, 0.1), vertical(0.35, -0.1, 1),
			horizontal(0.45, -1, -0.55), horizontal(-0.45, 0.55, 1),
		},
		Acceleration: 20.8, Damping: 3, Restitution: 0.5, StartSpeed: 2.08,
	}
}

// B returns layout B with its constants: per step of 0.05 s, a control changes the velocity by up to 1.8 per second;
// no speed is lost, neither to damping nor at walls.
func B() Config {
	return Config{
		Balls: 3, DT: 0.05, Radius: 0.06,
		Walls: []planar.Box{
			vertical(-0.5, 0.1, 0.5), vertical(0.5, -0.5, -0.1),
			horizontal(0.5, 0.1, 0.5), horizontal(-0.5, -0.5, -0.1),
		},
		Acceleration: 36, Damping: 0, Restitution: 1, StartSpeed: 1.4,
	}
}
