//go:build !long

package cmd

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

const (
	chaosSeconds    = 3           // how long TestChaos_SameBits makes steps under faults
	chaosKill       = "1s"        // time between two kills there
	chaosRestart    = "1s"        // time between two restarts of the broker there
	serversSeconds  = 5           // how long TestChaos_Servers makes steps under faults
	serversDelay    = "50ms/100%" // --delay there: a step that waits costs nothing
	suggestionSeeds = 1           // seeds with which TestData_Suggestion divides the data for each family
	chainSweeps     = 160         // sweeps of TestChains_SameBitsUnderFaults
)

// chainSettings make the few sweeps of a short run last long enough to be killed in: messages are late.
var chainSettings = []string{"model.burn_in=80", "env.episodes=8", "env.length=40", "--kill", "2s", "--nan", "10%", "--delay", "40ms/100%"}

// What TestPaper trains and measures, a claim about it, and what the page of the report has then: at the end a figure of one
// run.
const (
	paperPart  = "fhn/fhn/concrete,fhn/fhn/normal"
	paperClaim = "fhn-level"
)

var paperPage = []string{"FitzHugh–Nagumo oscillator", "fhn-normal-1", `src="figures/fhn-r2.svg"`, `src="figures/fhn-concrete-fhn.svg"`}

// sameBitsWorkers are the numbers of workers of TestTrain_SameBits.
var sameBitsWorkers = []string{"1", "3", "8"}

// sameBitsISAs are its instruction sets, beside the best one, which the others of its runs have.
func sameBitsISAs() []kernel.ISA { return kernel.Available()[:1] }
