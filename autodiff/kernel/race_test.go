//go:build race

package kernel

const underRace = true // tests do less: Go code is slow
