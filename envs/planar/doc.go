// Package planar moves discs in a plane among walls: equal discs of mass 1 inside a rectangle, with
// solid boxes in it, without friction or rotation. Between impacts a disc follows
//
//	v' = a − c·v,  p' = v
//
// with an acceleration a that is constant over a step and damping c, integrated by sub-steps of a
// length h (semi-implicit Euler with implicit damping, the order of the engine Box2D):
//
//	v ← (v + a·h)/(1 + c·h),  p ← p + v·h
//
// Within a sub-step discs fly straight, and every impact happens at its exact time: nothing overlaps,
// nothing tunnels, nothing has to be pushed apart afterwards. An impact with restitution e reverses
// and scales the normal part of the (relative) velocity and leaves the tangential part alone:
//
//	wall: v ← v − (1+e)(v·n)n        two discs: v₁,₂ ← v₁,₂ ∓ ½(1+e)((v₁−v₂)·n)n
//
// All of it is float64 with every product rounded before it is added, and the only function used is
// the square root, so that a trajectory is the same bits on every machine. Nothing allocates.
//
// The package knows neither episodes nor random numbers, nor what the discs stand for. Lengths and times are in the
// units of its caller: with metres and seconds, V is in m/s, A in m/s² and Damping in 1/s.
package planar
