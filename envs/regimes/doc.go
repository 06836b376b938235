// Package regimes simulates systems that switch between regimes, each a linear system with noise. The true regime of
// every step is known, so what a model finds can be compared with it:
//
//	environment | observed                     | regimes | what ends a regime
//	Modes       | a point in the plane         | 3       | its duration
//	Bounce      | where a ball is on a line    | 2       | a wall
//
// The regime is a label (envs.Switching): no model sees it. There are no controls, and steps have no duration.
package regimes
