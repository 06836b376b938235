//go:build !unix

package disk

// syncFolder does nothing on systems that cannot sync folders.
func syncFolder(string) error { return nil }
