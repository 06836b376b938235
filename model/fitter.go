package model

// Fitter is a model that fits itself to all its recordings, without a gradient: by chains, each of which makes sweeps
// over all recordings by itself, as a Gibbs sampler does. A run spreads the chains over its workers. Its settings are
// Sweeping.
type Fitter interface {
	Model
	// Terms are the values that a sweep reports, the loss first.
	Terms() []Term
	// Layout lists the parts of the state of a chain over these recordings, in their order.
	Layout(recordings []Batch) []Part
	// NewChain returns a chain before its first sweep if state is nil, otherwise one that goes on from a state. It is a
	// pure function of its arguments and of the model. The recordings are sequences one by one, B = 1; neither they nor
	// the state are changed or kept.
	NewChain(recordings []Batch, index int, state []float64) (Chain, error)
	// Install gives the model the states of all its chains, which it forecasts from. A state is nil if its chain has
	// not begun. No recordings are needed: what depends on their length stands behind all else in a state.
	Install(states [][]float64) error
}

// Chain is one chain of a Fitter. It serves one goroutine. After each sweep its state may be read, and a chain
// that NewChain makes of it goes on with the same bits.
type Chain interface {
	// Sweep goes once over all recordings and writes the terms.
	Sweep(terms []float64) error
	// State writes all that the next sweep depends on, beside the arguments of NewChain, and what is kept for
	// forecasts. Any bits may be in it.
	State(dst []float64)
}

// Sized is a Chain that says how much memory it holds, in bytes, beside its state as an array.
type Sized interface {
	Bytes() int
}

// Part is a named array in the state of a chain, row-major. Parts follow each other in a state without gaps.
type Part struct {
	Name  string
	Shape []int
}

// Size is the number of values of a part.
func (p Part) Size() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// Sweeping are Settings of a Fitter. Their keys are to be called model.chains, model.sweeps and model.exchange. They
// take the place of the keys of training by gradient: train.steps is the number of sweeps, and there is neither batch
// nor optimiser.
type Sweeping interface {
	Settings
	SweepPlan() Sweeps
}

// Sweeps say how a Fitter works.
type Sweeps struct {
	Chains   int // that work apart
	Total    int // sweeps of each chain
	Exchange int // sweeps between two exchanges with the coordinator; divides Total
}

// Diagnosed is a Fitter that says how well its chains agree.
type Diagnosed interface {
	// Diagnose compares the chains that were installed.
	Diagnose() []Diagnosis
}

// Diagnosis says how well the chains agree about one quantity, after Vehtari et al. (2021).
type Diagnosis struct {
	Name string
	// rank-normalised split R̂; 1 for chains that cannot be told apart, above 1.01 they are too short, or in different
	// modes
	RHat float64
	Bulk float64 // effective sample size for the centre; at least 400 is asked for
	Tail float64 // for the 5 and 95 per cent quantiles, whichever is less
	Size int     // sweeps of each chain that were compared
}

// Weighted is a Fitter whose chains do not count the same.
type Weighted interface {
	// Weights are those of the chains that were installed, 1 together; nil: they count the same.
	Weights() []float64
}

// Remembering is a Fitter that keeps which regimes it found in its recordings.
type Remembering interface {
	// Regimes returns them for recordings of these lengths, which are those that the chains were fitted to. They are
	// empty if they were not kept.
	Regimes(lengths []int) (Regimes, error)
}

// Regimes are the probabilities of K regimes at all steps of the recordings, one recording after the other. Rows are
// about the transitions that lead to the steps, as those of a Segmentation.
type Regimes struct {
	// K is the number of regimes; N below is the sum of the lengths of the recordings.
	K           int
	Probability []float32 // [N,K] the weighted mean of the chains
	Spread      []float32 // [N,K] the standard deviation of the chains around it
}
