package regimes

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

const (
	lorenzDT     = 0.02 // between two steps
	lorenzParts  = 2    // steps of Runge and Kutta in each
	lorenzBefore = 250  // steps before the first one, until the attractor is reached
	lorenzScale  = 10.0
	lorenzMiddle = 25.0 // of the third coordinate
	lorenzNoise  = 0.01 // standard deviation of a step of x, in the units of the state
	lorenzSensor = 0.02 // standard deviation of an observation
)

// Lorenz is the chaotic system of Lorenz (1963), whose regime is the lobe: the sign of its first coordinate.
//
//	dX/dt = 10·(Y − X),  dY/dt = X·(28 − Z) − Y,  dZ/dt = X·Y − 8/3·Z
//	x = (X, Y, Z − 25)/10, every .02 time units and with noise .01·ε        y_t = x_t + .02·ε'_t
//
//	k | lobe
//	0 | x_t < 0
//	1 | x_t ≥ 0
//
// A step is two of the classical method of Runge and Kutta, and noise follows it. An episode begins on the attractor,
// 250 steps after a point near its middle. y is observed, x is the state. A round in a lobe takes about 35 steps.
// Linderman et al. 2017, section 5, describe it by two linear systems; scale, step and noise are a choice of this
// package. Lorenz is immutable.
type Lorenz struct{ spec envs.Spec }

var _ envs.Switching = (*Lorenz)(nil)

// NewLorenz returns the attractor.
func NewLorenz() *Lorenz {
	return &Lorenz{envs.Spec{Name: "lorenz", Observation: 3, State: 3, Labels: []string{"lobe"}, DT: lorenzDT}}
}

// LorenzKind is Lorenz as a value of env.kind.
func LorenzKind() envs.Kind {
	return envs.Kind{
		Name: "lorenz", Doc: "a chaotic attractor of two lobes",
		Settings: func() envs.Settings { return new(LorenzSettings) },
	}
}

// LorenzSettings are none.
type LorenzSettings struct{}

// New builds the environment.
func (*LorenzSettings) New() (envs.Env, error) { return NewLorenz(), nil }

// Spec returns the dimensions: y of three, x of three, and the lobe.
func (e *Lorenz) Spec() envs.Spec { return e.spec }

// Regime is the column of the labels that holds k.
func (*Lorenz) Regime() int { return 0 }

// Simulate fills dst as the contract of envs.Env says. The state is carried in float64. Random numbers are consumed in
// the order x, and for each t: noise of x, noise of y.
func (e *Lorenz) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(e.spec, T)
	s := key.At(0, 0, index)
	x := [3]float64{s.Normal(), s.Normal(), s.Normal()}
	for range lorenzBefore {
		x = lorenzStep(x)
	}
	for t := range T {
		x = lorenzStep(x)
		for i := range x {
			x[i] += float64(lorenzNoise * s.Normal())
			dst.States[3*t+i] = float32(x[i])
		}
		for i := range x {
			dst.Observations[3*t+i] = float32(x[i] + float64(lorenzSensor*s.Normal()))
		}
		dst.Labels[t] = envs.Indicator(x[0] >= 0)
	}
}

// lorenzStep moves a state by one step of the environment. It draws nothing: noise follows it in Simulate.
func lorenzStep(x [3]float64) [3]float64 {
	const h = lorenzDT / lorenzParts
	for range lorenzParts {
		a := lorenzField(x)
		b := lorenzField(along(x, a, h/2))
		c := lorenzField(along(x, b, h/2))
		d := lorenzField(along(x, c, h))
		for i := range x {
			x[i] += float64(h / 6 * (a[i] + 2*b[i] + 2*c[i] + d[i]))
		}
	}
	return x
}

// along is x + h·v.
func along(x, v [3]float64, h float64) [3]float64 {
	for i := range x {
		x[i] += float64(h * v[i])
	}
	return x
}

// lorenzField is dx/dt in the units of the state. Products are rounded before they are added, so that no compiler fuses
// them.
func lorenzField(x [3]float64) [3]float64 {
	z := float64(lorenzScale*x[2]) + lorenzMiddle
	return [3]float64{
		float64(10 * (x[1] - x[0])),
		float64(x[0]*(28-z)) - x[1],
		float64(float64(lorenzScale*x[0])*x[1]) - float64(8.0/3*z)/lorenzScale,
	}
}
