package model

// Systems are the M base systems that a model switches between or mixes. With weights w, and with r = 1 for a residual
// transition, r = 0 for others,
//
//	z_t = Σᵢ wᵢ(Aᵢ z_{t−1} + Bᵢ u_t + bᵢ) + (1 − Σᵢ wᵢ) r z_{t−1} + N(0, Σᵢ wᵢ Qᵢ + (1 − Σᵢ wᵢ) f I)
//
// Every system has z and the floor f in it, and a mixture has them once: the terms with 1 − Σᵢ wᵢ are not zero where
// weights do not sum to 1, as those of a sigmoid. Each of several bodies has weights of its own, and the sums for its
// block of the state are over these. Vectors are columns, matrices row-major.
type Systems struct {
	NZ, NU, M int
	// Bodies is how many bodies there are; 0: one. The first M/Bodies systems move the first body and its block of the
	// state, the next ones the second.
	Bodies int

	A    []float64 // [M,NZ,NZ], with the identity of a residual transition in it
	B    []float64 // [M,NZ,NU]
	Bias []float64 // [M,NZ]
	Q    []float64 // [M,NZ,NZ] covariance of the noise, with the floor in its diagonal

	Residual bool    // r is 1
	Floor    float64 // f, a variance
}

// NewSystems returns systems of zeros.
func NewSystems(m, nz, nu int) Systems {
	return Systems{
		NZ: nz, NU: nu, M: m,
		A: make([]float64, m*nz*nz), B: make([]float64, m*nz*nu), Bias: make([]float64, m*nz), Q: make([]float64, m*nz*nz),
	}
}

// Body returns the systems of the first body, which are those of all.
func (s Systems) Body() Systems {
	if s.Bodies < 2 {
		return s
	}
	y := NewSystems(s.M/s.Bodies, s.NZ/s.Bodies, s.NU)
	y.Residual, y.Floor = s.Residual, s.Floor
	for row := range y.M * y.NZ {
		// Row of system k: the first NZ rows and columns of system k among all, which are those of the first body.
		from := row/y.NZ*s.NZ + row%y.NZ
		copy(y.A[row*y.NZ:(row+1)*y.NZ], s.A[from*s.NZ:])
		copy(y.Q[row*y.NZ:(row+1)*y.NZ], s.Q[from*s.NZ:])
		copy(y.B[row*y.NU:(row+1)*y.NU], s.B[from*s.NU:])
		y.Bias[row] = s.Bias[from]
	}
	return y
}

// Mix returns the one system of the given weights, those of one body after another: A [NZ,NZ], B [NZ,NU], bias [NZ] and
// Q [NZ,NZ].
func (s Systems) Mix(weights []float64) Systems {
	y := NewSystems(1, s.NZ, s.NU)
	for _, part := range []struct{ to, from []float64 }{{y.A, s.A}, {y.B, s.B}, {y.Bias, s.Bias}, {y.Q, s.Q}} {
		n := len(part.to)
		for i, w := range weights {
			for j := range n {
				part.to[j] += w * part.from[i*n+j]
			}
		}
	}
	bodies := max(1, s.Bodies)
	for i := range s.NZ { // the rest, 1 − Σᵢ wᵢ, is that of the body to which dimension i belongs
		body, rest := i/(s.NZ/bodies), 1.0
		for _, w := range weights[body*s.M/bodies : (body+1)*s.M/bodies] {
			rest -= w
		}
		if s.Residual {
			y.A[i*(s.NZ+1)] += rest
		}
		y.Q[i*(s.NZ+1)] += rest * s.Floor
	}
	return y
}

// Systematic is a Forecaster whose model has base systems.
type Systematic interface {
	// Systems are the base systems, in the units of the model.
	Systems() Systems
}

// Array is a named array of what a model was fitted to, in its units.
type Array struct {
	Part
	Values []float64
}

// Tabular is a Forecaster that is more than its parameters and base systems. With its arrays another program computes
// what it does.
type Tabular interface {
	Arrays() []Array
}

// Emitter is a Forecaster whose observations are decoded from the latent state alone.
type Emitter interface {
	// Emit writes mean and standard deviation [rows,NX] of p(x | z) for rows of z [rows,NZ]; deviations of a binary
	// observation are zeros, and its means the probabilities of a one.
	Emit(mean, sd, z []float32)
}
