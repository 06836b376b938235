//go:build race

package envtest

// raceDetector is set where the race detector is built in, which allocates on its own.
const raceDetector = true
