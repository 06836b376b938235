package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// DataFolder is the folder, in a folder of runs, with the data sets of the runs that hosts lead. Its name is no valid
// one of a run.
func DataFolder(runsDir string) string { return filepath.Join(runsDir, ".data") }

// Incomplete ends the name of a data set of which not all has come yet. The name is that of the complete one with it.
const Incomplete = ".part"

// IsHash reports whether a text is a SHA-256 in lower-case hexadecimal digits. So it can be the name of a file.
func IsHash(hash string) bool {
	return len(hash) == 2*sha256.Size && strings.Trim(hash, "0123456789abcdef") == ""
}

// DataSet returns the encoded data set with a hash, of at most limit bytes. If the folder does not have it, the error
// matches fs.ErrNotExist. Its hash is computed again: for a file that was damaged on the disk it returns another error.
func DataSet(folder, hash string, limit int64) ([]byte, error) {
	if !IsHash(hash) {
		return nil, fmt.Errorf("%w: %.80q is no hash of a data set", fs.ErrNotExist, hash)
	}
	path := filepath.Join(folder, hash)
	data, err := disk.ReadFile(path, limit)
	if err != nil {
		return nil, fmt.Errorf("read the data set: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		return nil, fmt.Errorf("data set %s is damaged", path)
	}
	return data, nil
}
