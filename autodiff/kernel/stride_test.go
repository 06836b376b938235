//go:build !exhaustive

package kernel

const accuracyStride uint64 = 9973 // prime, so that all low bits occur
