//go:build !race

package envtest

// raceDetector says whether the race detector is built in, which allocates memory itself.
const raceDetector = false
