//go:build long

package job_test

// faithful is true where the memory of presets of the sizes of papers is measured too.
const faithful = true
