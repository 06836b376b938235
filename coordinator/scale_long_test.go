//go:build long

package coordinator

const (
	// Schedules of faults that TestSimulation lives through, unless the flag -simulations says otherwise; the simulations with
	// shared memory and with averages live through a third and a fifth of them.
	Schedules = 300
	// WorkersApart is how far apart the numbers of workers from 1 to 8 are with which memory is shared.
	WorkersApart = 1
	// TornApart is how far apart the acts on a disk are at which a coordinator is killed in the middle of a write.
	TornApart = 1

	fleets = 80 // of workers, each with up to 1,500 acts, after each of which the books of the machine are checked
)
