//go:build unix

package worker

import (
	"syscall"
	"time"
)

// ProcessorTime is the processor time that this process has used so far.
func ProcessorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
