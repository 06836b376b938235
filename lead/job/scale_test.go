//go:build !long

package job

// faithful is true where the memory of presets of the sizes of papers is measured too.
const faithful = false
