package model

// Systems are the M base systems that a model switches between or mixes. With weights w,
//
//	z_t = Σᵢ wᵢ(Aᵢ z_{t−1} + Bᵢ u_t + bᵢ) + N(0, Σᵢ wᵢ Qᵢ)
//
// Vectors are columns, matrices row-major.
type Systems struct {
	NZ, NU, M int

	A    []float64 // [M,NZ,NZ], with the identity of a residual transition in it
	B    []float64 // [M,NZ,NU]
	Bias []float64 // [M,NZ]
	Q    []float64 // [M,NZ,NZ] covariance of the noise
}

// NewSystems returns systems of zeros.
func NewSystems(m, nz, nu int) Systems {
	return Systems{
		NZ: nz, NU: nu, M: m,
		A: make([]float64, m*nz*nz), B: make([]float64, m*nz*nu), Bias: make([]float64, m*nz), Q: make([]float64, m*nz*nz),
	}
}

// Body returns the systems of the first of so many bodies, which have the same ones and stand one after another.
func (s Systems) Body(bodies int) Systems {
	if bodies == 1 {
		return s
	}
	y := NewSystems(s.M/bodies, s.NZ/bodies, s.NU)
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

// Mix returns the system of the given weights, Σᵢ wᵢ·(Aᵢ, Bᵢ, bᵢ, Qᵢ): A [NZ,NZ], B [NZ,NU], bias [NZ] and Q
// [NZ,NZ].
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
