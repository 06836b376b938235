// Package regimes simulates systems that switch between regimes. The true regime of every step is known, so what a
// model finds can be compared with it:
//
//	environment | observed                     | regimes | what ends a regime
//	Modes       | a point in the plane         | 3       | its duration
//	Sticky      | a point that controls push   | 3       | chance, at each step
//	Bounce      | where a ball is on a line    | 2       | a wall
//	NASCAR      | a car on a track             | 4       | where the car is
//	Lorenz      | three coordinates            | 2       | chaos: the state moves to the other lobe
//
// All but Lorenz are linear systems with noise in each regime. The regime is a label (envs.Switching): no model sees
// it.
package regimes
