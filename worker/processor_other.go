//go:build !unix

package worker

import "time"

// ProcessorTime is the time of day: this system does not say how much processor time a process has used.
func ProcessorTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
