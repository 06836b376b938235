package job

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

// TestLoadData_ShortRecordings: the training part may have two steps, the least that a split by time leaves; fewer rows
// are refused with the keys of the split.
func TestLoadData_ShortRecordings(t *testing.T) {
	t.Parallel()
	for rows, want := range map[int]string{5: "hold out less (env.validation, env.test)", 6: "", 7: "", 8: ""} {
		path := filepath.Join(t.TempDir(), "a.csv")
		text := "y\n"
		for i := range rows {
			text += fmt.Sprintln(i % 3)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := config.Builtin().Kinds().Resolve(config.Sources{
			Preset: "files", Arguments: []string{"env.files=" + path, "model.kind=naive"},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = LoadData(&r.Config, nil)
		if err == nil {
			err = r.Config.Check() // as a worker does
		}
		if got := fmt.Sprint(err, config.HintOf(err)); (err == nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d rows: %s, want %q", rows, got, want)
		}
	}
}

// TestFits: a list of paths that makes a configuration too large for workers is refused before a file is looked for,
// and one that just fits reaches the files.
func TestFits(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]string{6000: "none-0.csv", 7000: "env.files lists 7,000 paths"} {
		paths := make([]string, count)
		for i := range paths {
			paths[i] = fmt.Sprintf("/%s/none-%d.csv", strings.Repeat("x", 64), i)
		}
		r, err := config.Builtin().Kinds().Resolve(config.Sources{
			Preset: "files", Arguments: []string{"env.files=" + strings.Join(paths, ","), "model.kind=naive"},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Prepare(r.Config, nil, 1)
		if text := fmt.Sprint(err); !errors.Is(err, config.ErrUsage) || !strings.Contains(text, want) {
			t.Errorf("%d paths: %.300s, want %q", count, text, want)
		}
	}
}

// TestListed: what env.files would split at commas, or cannot write, is refused by its name.
func TestListed(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/x/a.csv": "", "/x/a,b.csv": "rename the file, or give its folder", "/x,y/a.csv": "rename the folder",
		"/x/\xf6.csv": "rename the file or its folder",
	} {
		_, err := Listed([]string{"/x/c.csv", path})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), strings.Trim(strconv.Quote(path), `"`)) || config.HintOf(err) != want {
			t.Errorf("%s: %v (%s), want %q", path, err, config.HintOf(err), want)
		}
	}
}
