// Package fault injects faults into a process of a run, to test that the run survives them: messages are lost,
// repeated, delayed and changed; the process is cut off from all others for a while; gradients become NaN; the disk is
// full. The faults are drawn from a seed and the name of the process. They are counted in a small file that survives
// kill -9.
//
// An Injector is made from a Spec. A nil Injector injects nothing and returns its arguments unchanged. The package
// knows the Bus and the Program that it wraps; it does not know what a message means.
package fault
