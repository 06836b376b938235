package trained

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
)

// TestRead_FaultsOfOtherFiles: files that have the columns of the run are read by its settings or refused; those that
// lack one of them are read by what the question says.
func TestRead_FaultsOfOtherFiles(t *testing.T) {
	t.Parallel()
	r := &Run{config: config.Config{Env: config.Env{Kind: "files", Settings: &files.Settings{
		ID: "shop", Time: "date", ControlsAfter: true,
	}}}}
	const good = "shop,date,y,u\nA,2021-02-01,1,1\nA,2021-02-02,2,2\nB,2021-02-01,3,3\nB,2021-02-02,4,4\n"
	for _, c := range []struct {
		text, fault string
		episodes    int
	}{
		{good, "", 2},
		{strings.Replace(good, "B,2021-02-02", "B,2021-02-30", 1), "line 5", 0},
		{good + "A,2021-02-02,2,2\n", "line 6", 0},
		{"t,y,u\n2021-02-01,1,1\n2021-02-02,2,2\n", "", 1},
		{"t,y,u\n2021-02-01,1,1\n2021-02-30,2,2\n", "there is no date, which has the times of the run", 0},
	} {
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := r.Read([]string{path}, files.Options{})
		if c.fault != "" {
			if !errors.Is(err, files.ErrData) || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s\n%v, want a fault at %s", c.text, err, c.fault)
			}
			continue
		}
		if err != nil || len(d.Episodes) != c.episodes {
			t.Errorf("%s\n%v, want %d recordings", c.text, err, c.episodes)
		}
	}
}

// TestRecordings_KeepDigitsOfControls: the run's own recordings, scaled and divided by time, have the controls of the
// file, however far from zero: each part, and the joined ones where one part leads to the next.
func TestRecordings_KeepDigitsOfControls(t *testing.T) {
	t.Parallel()
	text := "y,u_1,u_2\n"
	for s := range 40 {
		text += fmt.Sprintf("%d,%v,%d\n", s%3, 1e8+3*math.Sin(float64(s)), s%2)
	}
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := files.Read([]string{path}, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := RecordingsOf(read)
	divided, err := read.SplitByTime(files.Fractions{Validation: 0.2, Test: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	scale := divided.Measure([]int{0})
	r := &Run{own: &eval.Recordings{Set: scale.Apply(divided), Scale: scale}}
	parts, _, err := r.Recordings()
	if err != nil || len(parts) != 3 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	step := 0
	for _, part := range parts {
		for i, row := range part.Controls {
			if i > 0 && !slices.Equal(row, want[0].Controls[step]) {
				t.Errorf("%s, step %d: %v, in the file %v", part.Name, i, row, want[0].Controls[step])
			}
			step++
		}
	}
	whole, _, err := r.Select(Selection{})
	if err != nil || len(whole) != 1 || !reflect.DeepEqual(whole[0].Controls, want[0].Controls) {
		t.Errorf("joined: %v, in the file %v; %v", whole, want[0].Controls, err)
	}
}
