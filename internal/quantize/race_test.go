//go:build race

package quantize

const underRace = true
