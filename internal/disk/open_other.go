//go:build !unix

package disk

// Systems without these flags have no pipes in folders.
const patient, direct = 0, 0
