package coordinator

import "github.com/switchyard-ml/switchyard/store/checkpoint"

// Checkpoint is the state of a run after an update, which Resume continues from.
type Checkpoint = checkpoint.Checkpoint

// Tensor is one named part of the parameters.
type Tensor = checkpoint.Tensor
