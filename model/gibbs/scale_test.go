//go:build !long

package gibbs

const (
	gewekeChains = 2000 // chains from independent draws of the joint distribution, for each kind of tree
	gammaDraws   = 8000 // draws of each of the two samplers of PG(1, c) that are compared, for each c
)
