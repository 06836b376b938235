//go:build !long

package serving

// schedules are played by TestMachine_RandomSchedules.
const schedules = 4000
