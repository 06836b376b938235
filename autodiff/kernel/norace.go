//go:build !race && (amd64 || arm64) && !purego

package kernel

const raceEnabled = false

func raceRead([]float32)      {}
func raceWrite([]float32)     {}
func raceReadBytes([]byte)    {}
func raceWriteBytes([]byte)   {}
func raceReadMatrix(*Matrix)  {}
func raceWriteMatrix(*Matrix) {}
