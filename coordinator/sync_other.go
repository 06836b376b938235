//go:build !unix

package coordinator

// syncFolder does nothing where folders cannot be synced.
func syncFolder(string) error { return nil }
