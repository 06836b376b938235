package job

import (
	"fmt"
	"os"
	"path/filepath"
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
