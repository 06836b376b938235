// Package bench measures what users and developers are promised: kernels against the FMA peak of the same core, the
// training step without messages, and what messages add to it. Contenders run by turns in one process, so that a noisy
// machine disturbs all of them alike; results are medians with their spread. It knows programs and vectors; it does not
// know presets, and it prints nothing.
package bench
