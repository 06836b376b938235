package runs

import (
	"fmt"
	"io"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// WriteFile replaces the file at path by data. A reader finds either the old or the new content, complete, even after a
// crash.
func WriteFile(path string, data []byte) error {
	err := disk.Replace(disk.System(), path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
