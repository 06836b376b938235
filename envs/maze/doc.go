// Package maze simulates several agents in a maze: discs that accelerate as they like inside
// the square [−1, 1]² and bounce off its walls and, rarely, off each other.
//
//	dv/dt = a_max·u − c·v,  dp/dt = v,  u ~ U[−1, 1]² per agent, drawn anew at every step and held over it
//
// Becker-Ehmck et al. 2019, section "Multi-agent maze", gives the sizes (three agents: six
// observations and controls, twelve states) and no geometry. The two layouts are proposals whose
// constants were fitted to what the paper does give, the error of predicting that nothing moves:
//
//	A (default): two long vertical and two short horizontal walls, damping, e = 0.5
//	B: four stubs in a pinwheel, no damping, elastic, faster: hard, near-chaotic
//
//	A  ┌─────────────────────────────────┐ B ┌─────────────────────────────────┐
//	   │                      ║          │   │                                 │
//	   │                      ║          │   │                                 │
//	   │                      ║          │   │                  ═══════        │
//	   │═══════               ║          │   │        ║                        │
//	   │                      ║          │   │        ║                        │
//	   │          ║           ║          │   │                                 │
//	   │          ║                      │   │                        ║        │
//	   │          ║               ═══════│   │                        ║        │
//	   │          ║                      │   │        ═══════                  │
//	   │          ║                      │   │                                 │
//	   │          ║                      │   │                                 │
//	   └─────────────────────────────────┘   └─────────────────────────────────┘
//
//	array        | holds, for n agents
//	observations | x₁ y₁ … xₙ yₙ, the positions, noise-free
//	controls     | uₓ₁ u_y₁ … uₓₙ u_yₙ
//	states       | the observations, then vₓ₁ v_y₁ … vₓₙ v_yₙ, per second
//	labels       | wall1 … walln, vertical1 …, horizontal1 …, ball1 …: 1 if during the step into t
//	             | agent i met any wall, one that stops motion along x, one that stops motion along
//	             | y, or another agent; zero at t = 0
//
// The mechanics are those of package planar, with sub-steps of at most 1/160 s.
package maze
