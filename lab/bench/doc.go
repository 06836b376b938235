// Package bench measures what the project promises: the speed of kernels compared with the FMA peak of the same core,
// of the training step without messages, and the cost of messages. The competitors take turns in one process, so that
// noise of the machine affects all of them equally. Results are medians with their spread.
//
// It also checks whether a machine is fit for training: its processor, its arithmetic, memory, disk, clock, ports and
// keys. Each check is one line: what was found, and what to do about it. A check changes nothing; it writes a file into
// the folder of the runs and removes it.
//
// The package knows programs and vectors. It does not know presets, and it prints nothing.
package bench
