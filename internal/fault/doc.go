// Package fault spoils on purpose what a process of a run does, so that it can be seen to hold: messages are lost,
// repeated, held back and changed, the process is cut off from all others for a while, gradients become NaN, and the disk is
// full. What happens is drawn from a seed and the name of the process, and counted in a small file that outlives kill -9.
//
// An Injector is made from a Spec; a nil Injector spoils nothing and hands on what it is given. The package knows the Bus and
// the Program that it wraps, and nothing of what a message means.
package fault
