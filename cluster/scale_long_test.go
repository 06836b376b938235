//go:build long

package cluster_test

import "time"

const (
	trapSteps = 3                       // of the run with a coordinator that is held up
	busy      = 1500 * time.Millisecond // for which it is held up in each step
)
