//go:build !purego

package kernel

// The functions below are not inlined, so that each call of assembly has a place
// before it where the scheduler can stop the goroutine.

//go:noinline
func exp(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	if active == Portable {
		expPortable(dst, src)
		return
	}
	expNEON(&dst[0], &src[0], len(dst))
}

//go:noinline
func log(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	if active == Portable {
		logPortable(dst, src)
		return
	}
	logNEON(&dst[0], &src[0], len(dst))
}

//go:noinline
func tanh(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	if active == Portable {
		tanhPortable(dst, src)
		return
	}
	tanhNEON(&dst[0], &src[0], len(dst))
}

//go:noinline
func sigmoid(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	if active == Portable {
		sigmoidPortable(dst, src)
		return
	}
	sigmoidNEON(&dst[0], &src[0], len(dst))
}

//go:noinline
func softplus(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	if active == Portable {
		softplusPortable(dst, src)
		return
	}
	softplusNEON(&dst[0], &src[0], len(dst))
}

//go:noinline
func add(dst, x []float32) {
	raceWrite(dst)
	raceRead(x)
	if active == Portable {
		addPortable(dst, x)
		return
	}
	addNEON(&dst[0], &x[0], len(dst))
}

//go:noinline
func sub(dst, x, y []float32) {
	raceWrite(dst)
	raceRead(x)
	raceRead(y)
	if active == Portable {
		subPortable(dst, x, y)
		return
	}
	subNEON(&dst[0], &x[0], &y[0], len(dst))
}

//go:noinline
func mul(dst, x, y []float32) {
	raceWrite(dst)
	raceRead(x)
	raceRead(y)
	if active == Portable {
		mulPortable(dst, x, y)
		return
	}
	mulNEON(&dst[0], &x[0], &y[0], len(dst))
}

//go:noinline
func addMul(dst, x, y []float32) {
	raceWrite(dst)
	raceRead(x)
	raceRead(y)
	if active == Portable {
		addMulPortable(dst, x, y)
		return
	}
	addMulNEON(&dst[0], &x[0], &y[0], len(dst))
}

//go:noinline
func addScaled(dst []float32, a float32, x []float32) {
	raceWrite(dst)
	raceRead(x)
	if active == Portable {
		addScaledPortable(dst, a, x)
		return
	}
	addScaledNEON(&dst[0], a, &x[0], len(dst))
}

//go:noinline
func scale(dst []float32, a float32) {
	raceWrite(dst)
	if active == Portable {
		scalePortable(dst, a)
		return
	}
	scaleNEON(&dst[0], a, len(dst))
}

//go:noinline
func relu(dst, src []float32) {
	raceWrite(dst)
	raceRead(src)
	if active == Portable {
		reluPortable(dst, src)
		return
	}
	reluNEON(&dst[0], &src[0], len(dst))
}

//go:noinline
func reluBackward(dst, dy, y []float32) {
	raceWrite(dst)
	raceRead(dy)
	raceRead(y)
	if active == Portable {
		reluBackwardPortable(dst, dy, y)
		return
	}
	reluBackwardNEON(&dst[0], &dy[0], &y[0], len(dst))
}

//go:noinline
func finite(x []float32) bool {
	raceRead(x)
	if active == Portable {
		return finitePortable(x)
	}
	return finiteNEON(&x[0], len(x))
}
