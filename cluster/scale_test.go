//go:build !long

package cluster_test

import "time"

const (
	trapSteps = 2                      // of the run with a coordinator that is held up
	busy      = 600 * time.Millisecond // for which it is held up in each step
)
