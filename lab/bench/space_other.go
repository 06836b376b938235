//go:build !unix

package bench

// freeDisk is not known here.
func freeDisk(string) (bytes int64, known bool) { return 0, false }
