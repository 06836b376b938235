package eval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// TestSeen_OfShortRecordings: of recordings that were divided by time and are no longer than what is usually seen, all
// before the held-out part is; of longer ones as much as usual, even where less comes before that part.
func TestSeen_OfShortRecordings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ rows, length, want int }{
		{8, 20, 6}, {20, 20, 18}, {21, 20, 20}, {60, 20, 20}, {60, 59, 59},
	} {
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte("y\n"+strings.Repeat("1\n2\n2\n5\n", 15)[:2*test.rows]), 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := files.Read([]string{path}, files.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if set, err = set.SplitByTime(files.Fractions{Validation: 0.1, Test: 0.1}); err != nil {
			t.Fatal(err)
		}
		split, err := set.Split(1, files.Fractions{})
		if err != nil {
			t.Fatal(err)
		}
		s := Subject{Length: test.length, Recordings: &Recordings{Set: set, Split: split}}
		if got, err := s.Seen(); err != nil || got != test.want {
			t.Errorf("%d rows, %d usually: %d seen, %v; want %d", test.rows, test.length, got, err, test.want)
		}
	}
}
