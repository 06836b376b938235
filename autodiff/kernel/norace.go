//go:build !race && (amd64 || arm64) && !purego

package kernel

const raceEnabled = false

// Without the race detector these do nothing; race.go says what they do with it.
func raceRead([]float32)      {}
func raceWrite([]float32)     {}
func raceReadBytes([]byte)    {}
func raceWriteBytes([]byte)   {}
func raceReadMatrix(*Matrix)  {}
func raceWriteMatrix(*Matrix) {}
