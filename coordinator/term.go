package coordinator

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// termFile holds the highest term in which a coordinator of the run may have sent a message.
const termFile = "term"

// readTerm reads the term of the last coordinator of a run from the folder of its checkpoints; 0 if there was none.
// The error of a damaged file is for people: log and checkpoint know the term, too.
func readTerm(dir string) (uint64, error) {
	path := filepath.Join(dir, termFile)
	text, err := disk.ReadFile(path, 64)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the term: %w", err)
	}
	term, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("read the term: %s: %w", path, err)
	}
	return term, nil
}

// writeTerm puts a term on disk. Only then may it be used: workers refuse what is of an older one, so a coordinator
// that was believed dead, and comes back, is not heard by those that its successor has spoken to.
func writeTerm(d disk.Disk, dir string, term uint64) error {
	err := disk.MakeIn(d, dir)
	if err == nil {
		err = disk.Replace(d, filepath.Join(dir, termFile), func(w io.Writer) error {
			_, err := fmt.Fprintln(w, term)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("write term %d: %w", term, err)
	}
	return nil
}
