//go:build !race

package cmd

// lengthySteps is how long a run has to be to be stopped twice, on a fast machine that does much else: seconds.
const lengthySteps = 4000
