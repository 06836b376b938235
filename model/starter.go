package model

import "errors"

// ErrStopped is returned by a Starter whose caller does not want it to go on.
var ErrStopped = errors.New("model: the start was stopped")

// Starter is a Trainable whose settings may ask for parameters to begin with that are fitted to recordings.
type Starter interface {
	Trainable
	// StartSteps is how many time steps a start reads at most; 0: the settings ask for none.
	StartSteps() int
	// Start sets the parameters. They are a pure function of the model and the recordings, which are sequences one by
	// one, B = 1. It asks goOn now and then, and returns ErrStopped once that is false.
	Start(recordings []Batch, goOn func() bool) error
}
