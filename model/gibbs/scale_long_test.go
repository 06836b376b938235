//go:build long

package gibbs

const (
	gewekeChains = 8000  // chains from independent draws of the joint distribution, for each kind of tree
	gammaDraws   = 30000 // draws of each of the two samplers of PG(1, c) that are compared, for each c
)
