//go:build !unix

package disk

// syncFolder does nothing where folders cannot be synced.
func syncFolder(string) error { return nil }
