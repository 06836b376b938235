// Package autodiff is reverse-mode differentiation for float32 sequence models: a tape of
// operations, each with its vector-Jacobian product below it, over one flat buffer of parameters.
// It does not know of models, data, randomness or messages.
//
// A Tape is recorded anew for every batch and keeps its memory: in steady state a step allocates
// nothing. Parameters are shared by all tapes of a process and read-only while a tape records or
// runs backward; every tape owns a flat gradient buffer of the same layout.
//
// Rules that every operation follows:
//   - A VJP adds into the gradients of its inputs, it never assigns: an input may feed several operations.
//   - A tensor whose Grad is nil is a constant. Data are: the inputs of layers, controls, observations,
//     masks and noise may be constants, what a network computed is not. The operations on any tensors
//     take constants everywhere.
//   - Sums have one fixed order (see package kernel), so equal inputs give equal bits on every machine.
//   - Weight gradients of layers that are applied once per time step are formed by one product over
//     all time steps (see StepLinear).
//
// # Operations
//
// An operation that takes its destination first writes into a tensor that exists, or a block of its
// rows, as a recurrence needs it; the others return a new tensor.
//
//	any tensors      Add Sub Mul Div (a row, column or scalar meets a matrix), Scale AddScalar
//	                 Square Exp Log Tanh ReLU Softplus Sigmoid Softmax LimitSum, Sum Mean SumRows SumColumns
//	                 WeightedSum, MatMul MatMulTransA MatMulTransB
//	pairs of rows    PairTanh PairSums
//	shapes           Columns Concat Repeat; without an operation: Tensor.Slice, Block, Reshape, Tape.Param
//	networks         Linear StepLinear AddReLU, Convolve Subpixel, ForwardLSTM BackwardLSTM StepLSTM
//	small matrices   one in each row: BatchMul BatchMulTransA BatchMulTransB Symmetric Cholesky
//	                 CholeskySolve LowerSolve LogDet
//	Gaussians        Variance Draw Fuse GaussianKL StandardKL GaussianNLL
//	relaxed choices  Gate Concrete BinaryConcrete ConcreteKL BinaryConcreteKL
//	transitions      Mixture VarianceMixture
//	discrete choices PredictSwitch PredictAgedSwitch PreviewSwitch MixMoves WeighSwitch
//	observations     BernoulliNLL HideRows
//	of one's own     Custom, with the rules at VJP; GradCheck compares the gradient with differences
//
// Notation in the comments: x̄ is the gradient of the loss with respect to x.
//
// # Memory
//
// Values and gradients of tensors come from two arenas of the tape, which only grow while it records and start anew at
// Reset. A record holds views of them. Scratch memory of a VJP is taken from the arena of values between a mark and its
// release; it is on top of everything else, so that nothing moves. Three kinds of gradients begin differently:
//
//	of tensors of New             are zero from the beginning; VJPs add.
//	of activations                are undefined; the first VJP that reaches a row writes it (see Activation).
//	of weights in t.Gradient      are zeros, or for weights that layers multiply by are written by the first product.
//
// # A recurrence
//
// The tensors of all steps are allocated first, with a block of rows for each step. Layers are put on the tape once,
// which records the product that forms their weight gradients; then every step runs through the blocks:
//
//	y := t.New(steps*n, width)
//	layer := t.StepLinear(y, x, w, b, autodiff.Identity, n) // its VJP runs last of the layer's
//	for i := range steps {
//		layer.Step(i) // block i of y from block i of x
//	}
//
// As the records of the steps come after that of the layer, Backward has all gradients of y when it forms those of w.
package autodiff
