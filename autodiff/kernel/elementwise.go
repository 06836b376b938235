package kernel

import "math"

// chunk is the most elements that one call of an assembly kernel gets. Assembly
// cannot be preempted; the noinline Go function around each call can, so that a
// long vector delays a garbage collection by some ten microseconds, not by itself.
// A multiple of 16, so that the lanes of a sum are the same with and without chunks.
const chunk = 8192

// Exp is
//
//	for i, x := range src { dst[i] = eˣ }
//
// over the whole range, subnormal results included; at most 1.0 ulp off.
func Exp(dst, src []float32) {
	checkLen("Exp", len(src), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		exp(dst[i:j], src[i:j])
	}
}

// Log is
//
//	for i, x := range src { dst[i] = ln x }
//
// with ln 0 = -Inf and NaN below; at most 0.9 ulp off.
func Log(dst, src []float32) {
	checkLen("Log", len(src), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		log(dst[i:j], src[i:j])
	}
}

// Tanh is
//
//	for i, x := range src { dst[i] = tanh x }
//
// and is at most 2.6 ulp off.
func Tanh(dst, src []float32) {
	checkLen("Tanh", len(src), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		tanh(dst[i:j], src[i:j])
	}
}

// Sigmoid is
//
//	for i, x := range src { dst[i] = 1/(1 + e⁻ˣ) }
//
// and is at most 2.4 ulp off for x >= -87; below, it stays at e⁻⁸⁷.
func Sigmoid(dst, src []float32) {
	checkLen("Sigmoid", len(src), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		sigmoid(dst[i:j], src[i:j])
	}
}

// Softplus is
//
//	for i, x := range src { dst[i] = ln(1 + eˣ) }
//
// and is at most 1.7 ulp off for x >= -87; below, it stays at e⁻⁸⁷.
func Softplus(dst, src []float32) {
	checkLen("Softplus", len(src), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		softplus(dst[i:j], src[i:j])
	}
}

// Add is
//
//	for i := range dst { dst[i] += x[i] }
func Add(dst, x []float32) {
	checkLen("Add", len(x), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		add(dst[i:j], x[i:j])
	}
}

// Sub is
//
//	for i := range dst { dst[i] = x[i] - y[i] }
func Sub(dst, x, y []float32) {
	checkLen("Sub", len(x), len(dst))
	checkLen("Sub", len(y), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		sub(dst[i:j], x[i:j], y[i:j])
	}
}

// Mul is
//
//	for i := range dst { dst[i] = x[i] * y[i] }
func Mul(dst, x, y []float32) {
	checkLen("Mul", len(x), len(dst))
	checkLen("Mul", len(y), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		mul(dst[i:j], x[i:j], y[i:j])
	}
}

// Div is
//
//	for i := range dst { dst[i] = x[i] / y[i] }
func Div(dst, x, y []float32) {
	checkLen("Div", len(x), len(dst))
	checkLen("Div", len(y), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		div(dst[i:j], x[i:j], y[i:j])
	}
}

// Sqrt is
//
//	for i, x := range src { dst[i] = √x }
//
// correctly rounded, and NaN below 0.
func Sqrt(dst, src []float32) {
	checkLen("Sqrt", len(src), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		sqrt(dst[i:j], src[i:j])
	}
}

// AddMul is
//
//	for i := range dst { dst[i] = FMA(x[i], y[i], dst[i]) }
func AddMul(dst, x, y []float32) {
	checkLen("AddMul", len(x), len(dst))
	checkLen("AddMul", len(y), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		addMul(dst[i:j], x[i:j], y[i:j])
	}
}

// AddScaled is
//
//	for i := range dst { dst[i] = FMA(a, x[i], dst[i]) }
func AddScaled(dst []float32, a float32, x []float32) {
	checkLen("AddScaled", len(x), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		addScaled(dst[i:j], a, x[i:j])
	}
}

// Scale is
//
//	for i := range dst { dst[i] *= a }
func Scale(dst []float32, a float32) {
	for i := 0; i < len(dst); i += chunk {
		scale(dst[i:min(i+chunk, len(dst))], a)
	}
}

// ReLU is
//
//	for i, x := range src { dst[i] = x; if 0 > x { dst[i] = 0 } }
//
// so a NaN stays a NaN.
func ReLU(dst, src []float32) {
	checkLen("ReLU", len(src), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		relu(dst[i:j], src[i:j])
	}
}

// ReLUBackward is
//
//	for i := range dst { dst[i] = 0; if y[i] > 0 { dst[i] = dy[i] } }
//
// where y is the result of ReLU and dy the gradient with respect to it.
func ReLUBackward(dst, dy, y []float32) {
	checkLen("ReLUBackward", len(dy), len(dst))
	checkLen("ReLUBackward", len(y), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		reluBackward(dst[i:j], dy[i:j], y[i:j])
	}
}

// TanhBackward is
//
//	for i := range dst { dst[i] = float32(dy[i] * (1 - float32(y[i] * y[i]))) }
//
// where y is the result of Tanh and dy the gradient with respect to it.
func TanhBackward(dst, dy, y []float32) {
	checkLen("TanhBackward", len(dy), len(dst))
	checkLen("TanhBackward", len(y), len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		tanhBackward(dst[i:j], dy[i:j], y[i:j])
	}
}

// Finite reports whether x holds neither a NaN nor an infinity: whether no exponent has all bits set. It stops
// after the first chunk that does.
func Finite(x []float32) bool {
	for i := 0; i < len(x); i += chunk {
		if !finite(x[i:min(i+chunk, len(x))]) {
			return false
		}
	}
	return true
}

// DropBelow sets the elements of x between −smallest and smallest to 0. What is computed of them then stays clear
// of subnormal numbers, which some processors compute a hundred times more slowly. It is plain Go on every
// instruction set.
func DropBelow(x []float32, smallest float32) {
	// Magnitudes compare as integers, once the sign bit is gone.
	bound := math.Float32bits(smallest)
	for i, v := range x {
		bits := math.Float32bits(v)
		if bits&^(1<<31) < bound {
			bits = 0
		}
		x[i] = math.Float32frombits(bits)
	}
}
