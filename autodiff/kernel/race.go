//go:build race && (amd64 || arm64) && !purego

package kernel

import (
	"runtime"
	"unsafe"
)

// The race detector does not see what assembly reads and writes; these tell it.

const raceEnabled = true

func raceRead(x []float32) {
	if len(x) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&x[0]), len(x)*4)
	}
}

func raceWrite(x []float32) {
	if len(x) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&x[0]), len(x)*4)
	}
}

func raceReadBytes(x []byte) {
	if len(x) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&x[0]), len(x))
	}
}

func raceWriteBytes(x []byte) {
	if len(x) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&x[0]), len(x))
	}
}

func raceReadMatrix(m *Matrix) {
	for i := range m.Rows {
		raceRead(m.row(i))
	}
}

func raceWriteMatrix(m *Matrix) {
	for i := range m.Rows {
		raceWrite(m.row(i))
	}
}
