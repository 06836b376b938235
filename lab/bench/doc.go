// Package bench measures what the project promises: the speed of kernels compared with the FMA peak of the same core,
// of the training step without messages, and the cost of messages. The competitors take turns in one process, so that
// noise of the machine affects all of them equally. Results are medians with their spread. The package knows programs
// and vectors. It does not know presets, and it prints nothing.
package bench
