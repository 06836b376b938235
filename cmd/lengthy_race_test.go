//go:build race

package cmd

// lengthySteps is fewer under the race detector, where a step takes ten times as long.
const lengthySteps = 500
