//go:build !unix

package cluster

import "os"

// lockFile locks nothing: without flock two workers of one machine may take the same key, which works like a key for
// both.
func lockFile(file *os.File, _ bool) (release func(), err error) {
	return func() { file.Close() }, nil
}
