//go:build race

package vector

const underRace = true
