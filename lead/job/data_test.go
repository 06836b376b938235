package job

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
)

// TestLoadData_SaysWhatIsTooShort: a training part of too few steps for any model is refused with the number of steps
// that are missing and the keys of the split.
func TestLoadData_SaysWhatIsTooShort(t *testing.T) {
	t.Parallel()
	for rows, want := range map[int]string{
		6: "record at least 2 more, or hold out less", 7: "record at least 1 more, or hold out less", 8: "",
	} {
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
		if want == "" {
			if err != nil {
				t.Errorf("%d rows: %v", rows, err)
			}
			continue
		}
		if got := config.HintOf(err); !errors.Is(err, config.ErrUsage) || !strings.Contains(got, want) {
			t.Errorf("%d rows: %v, hint %q", rows, err, got)
		}
	}
}
