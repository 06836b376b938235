//go:build !purego

package kernel

// The switches below are direct calls: through function variables the arguments
// would escape to the heap. They are not inlined, so that each call of assembly
// has a place before it where the scheduler can stop the goroutine.

//go:noinline
func exp(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	switch active {
	case AVX512:
		expAVX512(&dst[0], &src[0], len(dst))
	case AVX2:
		expAVX2(&dst[0], &src[0], len(dst))
	default:
		expPortable(dst, src)
	}
}

//go:noinline
func log(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	switch active {
	case AVX512:
		logAVX512(&dst[0], &src[0], len(dst))
	case AVX2:
		logAVX2(&dst[0], &src[0], len(dst))
	default:
		logPortable(dst, src)
	}
}

//go:noinline
func tanh(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	switch active {
	case AVX512:
		tanhAVX512(&dst[0], &src[0], len(dst))
	case AVX2:
		tanhAVX2(&dst[0], &src[0], len(dst))
	default:
		tanhPortable(dst, src)
	}
}

//go:noinline
func sigmoid(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	switch active {
	case AVX512:
		sigmoidAVX512(&dst[0], &src[0], len(dst))
	case AVX2:
		sigmoidAVX2(&dst[0], &src[0], len(dst))
	default:
		sigmoidPortable(dst, src)
	}
}

//go:noinline
func softplus(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	switch active {
	case AVX512:
		softplusAVX512(&dst[0], &src[0], len(dst))
	case AVX2:
		softplusAVX2(&dst[0], &src[0], len(dst))
	default:
		softplusPortable(dst, src)
	}
}

//go:noinline
func add(dst, x []float32) {
	raceWrite(dst)
	raceRead(x)
	switch active {
	case AVX512:
		addAVX512(&dst[0], &x[0], len(dst))
	case AVX2:
		addAVX2(&dst[0], &x[0], len(dst))
	default:
		addPortable(dst, x)
	}
}

//go:noinline
func sub(dst, x, y []float32) {
	raceWrite(dst)
	raceRead(x)
	raceRead(y)
	switch active {
	case AVX512:
		subAVX512(&dst[0], &x[0], &y[0], len(dst))
	case AVX2:
		subAVX2(&dst[0], &x[0], &y[0], len(dst))
	default:
		subPortable(dst, x, y)
	}
}

//go:noinline
func mul(dst, x, y []float32) {
	raceWrite(dst)
	raceRead(x)
	raceRead(y)
	switch active {
	case AVX512:
		mulAVX512(&dst[0], &x[0], &y[0], len(dst))
	case AVX2:
		mulAVX2(&dst[0], &x[0], &y[0], len(dst))
	default:
		mulPortable(dst, x, y)
	}
}

//go:noinline
func addMul(dst, x, y []float32) {
	raceWrite(dst)
	raceRead(x)
	raceRead(y)
	switch active {
	case AVX512:
		addMulAVX512(&dst[0], &x[0], &y[0], len(dst))
	case AVX2:
		addMulAVX2(&dst[0], &x[0], &y[0], len(dst))
	default:
		addMulPortable(dst, x, y)
	}
}

//go:noinline
func addScaled(dst []float32, a float32, x []float32) {
	raceWrite(dst)
	raceRead(x)
	switch active {
	case AVX512:
		addScaledAVX512(&dst[0], a, &x[0], len(dst))
	case AVX2:
		addScaledAVX2(&dst[0], a, &x[0], len(dst))
	default:
		addScaledPortable(dst, a, x)
	}
}

//go:noinline
func scale(dst []float32, a float32) {
	raceWrite(dst)
	switch active {
	case AVX512:
		scaleAVX512(&dst[0], a, len(dst))
	case AVX2:
		scaleAVX2(&dst[0], a, len(dst))
	default:
		scalePortable(dst, a)
	}
}

//go:noinline
func relu(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	switch active {
	case AVX512:
		reluAVX512(&dst[0], &src[0], len(dst))
	case AVX2:
		reluAVX2(&dst[0], &src[0], len(dst))
	default:
		reluPortable(dst, src)
	}
}

//go:noinline
func reluBackward(dst, dy, y []float32) {
	raceWrite(dst)
	raceRead(dy)
	raceRead(y)
	switch active {
	case AVX512:
		reluBackwardAVX512(&dst[0], &dy[0], &y[0], len(dst))
	case AVX2:
		reluBackwardAVX2(&dst[0], &dy[0], &y[0], len(dst))
	default:
		reluBackwardPortable(dst, dy, y)
	}
}

//go:noinline
func finite(x []float32) bool {
	raceRead(x)
	switch active {
	case AVX512:
		return finiteAVX512(&x[0], len(x))
	case AVX2:
		return finiteAVX2(&x[0], len(x))
	}
	return finitePortable(x)
}
