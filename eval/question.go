package eval

// PartValidation is the part of recordings that training was validated on. Models are chosen by it, so it is no
// test of the chosen one.
const PartValidation = "validation"

// Question is what may be chosen of a measurement. Flags or a program fill it once, and it reaches what computes the
// answer as it is; a protocol says which of it there is a choice of. A zero is the usual choice.
type Question struct {
	Protocol  string // of Evaluate; empty: the usual one of the environment
	Episodes  int    // of the test; 0: as many as the protocol is made for
	Prefix    int    // steps seen before a prediction; 0: as many as the protocol is made for
	Horizon   int    // steps predicted; 0: eval.horizon of the run
	Stride    int    // of recordings: steps from one start to the next; 0: a horizon, or less where that gives few starts
	Season    int    // of recordings: steps of the season that a baseline repeats; 0: found in the training data
	Seed      uint64 // of recordings: of the random paths of Backtest; 0: that of the run
	Part      string // of recordings: PartValidation, or the test part if it is empty
	Truth     string // of recordings: the column of their true regimes, where it is not z
	AllStarts bool   // also predict from every start in the held-out window; costs Horizon times as much
	Fresh     bool   // predict trajectories that training never saw, instead of the held-out ends
	Threads   int    // forecasts at a time; 0: one per core. Never changes a result
}
