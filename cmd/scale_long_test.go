//go:build long

package cmd

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

const (
	chaosSeconds    = 8    // how long TestChaos_SameBits makes steps under faults
	chaosKill       = "2s" // time between two kills there
	chaosRestart    = "4s" // time between two restarts of the broker there
	serversSeconds  = 7    // how long TestChaos_Servers makes steps under faults
	serversDelay    = "0"  // --delay there
	suggestionSeeds = 3    // seeds with which TestData_Suggestion divides the data for each family
	chainSweeps     = 1600 // sweeps of TestChains_SameBitsUnderFaults
)

// chainSettings are those of a run that lasts long by itself.
var chainSettings = []string{"model.burn_in=800", "--kill", "2s", "--nan", "3%"}

// What TestPaper trains and measures, a claim about it, and what the page of the report has then: at the end a figure of one
// run.
const (
	paperPart  = "ball"
	paperClaim = "ball-long"
)

var paperPage = []string{"Image ball in a box", "ball-kvae-1", `src="figures/ball-pixels.svg"`, `src="figures/ball-normal-pixels.svg"`}

// sameBitsWorkers are the numbers of workers of TestTrain_SameBits.
var sameBitsWorkers = []string{"1", "2", "3", "5", "8"}

// sameBitsISAs are its instruction sets.
func sameBitsISAs() []kernel.ISA { return kernel.Available() }
