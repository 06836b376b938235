package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
)

// ledRun makes the folder of a run on one CSV file that a host leads, with the data set where the host keeps it, and
// returns its configuration, its plan and its folder.
func ledRun(t *testing.T, path string, settings ...string) (config.Config, *Plan, string) {
	t.Helper()
	r, err := config.Builtin().Kinds().Resolve(config.Sources{
		Preset: "files", Arguments: append([]string{"env.files=" + path, "model.kind=naive"}, settings...),
	})
	if err != nil {
		t.Fatal(err)
	}
	submitted, err := Prepare(r.Config, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	scale, err := submitted.Data.Normalisation()
	if err != nil {
		t.Fatal(err)
	}
	runs := t.TempDir()
	if err := os.Mkdir(store.DataFolder(runs), 0o755); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(submitted.Data.Encoded)
	set := filepath.Join(store.DataFolder(runs), hex.EncodeToString(sum[:]))
	if err := os.WriteFile(set, submitted.Data.Encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := StoredData(runs, submitted.Config, scale)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(submitted.Config, data, 1)
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.MakeRun(runs, Origin{Name: "led", Host: true})
	if err == nil {
		err = run.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.Config, p, filepath.Join(runs, "led")
}

// table writes a CSV file: two recordings of a channel and a control.
func table(t *testing.T, path string, from int) {
	t.Helper()
	text := "id,y,w\n"
	for i := range 80 {
		text += fmt.Sprintf("%d,%d,%d\n", i/40, from*i*i%7, i%3)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAgain_WithoutTheFiles: a run that a host led is planned and read as with the files when these are gone, or when
// other ones are in their place; where the data set says less than they did, no other numbers come out.
func TestAgain_WithoutTheFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ settings, lacks string }{
		{"env.split=time env.observe=y", ""},
		{"env.split=time env.observe=y,w", ""},
		{"env.split=episode env.observe=y env.control=w env.id=id env.cut=8", ""},
		{"env.split=time env.observe=y env.control=w", "which controls acted"},
		{"env.split=time env.observe=y env.transform=diff", "before env.transform"},
		{"env.normalise=recording env.observe=y env.id=id", "the names of the recordings"},
	} {
		path := filepath.Join(t.TempDir(), "w.csv")
		table(t, path, 1)
		c, p, folder := ledRun(t, path, append(strings.Fields(test.settings), "env.time=none")...)
		want, err := Recordings(c, folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range []func(){func() { table(t, path, 2) }, func() { os.Remove(path) }} {
			change()
			again, err := PrepareAgain(c, folder, 1)
			if err != nil || again.Golden != p.Golden || again.Data.hash != p.Data.hash {
				t.Errorf("%s: planned again: %v", test.settings, err)
			}
			got, err := Recordings(c, folder)
			if test.lacks != "" {
				if err == nil || !strings.Contains(err.Error(), test.lacks) || !strings.Contains(config.HintOf(err), "put the files back") {
					t.Errorf("%s: got %v, want %q", test.settings, err, test.lacks)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", test.settings, err)
				continue
			}
			for i := range got.Set.Episodes {
				a, b := got.Set.Episodes[i], want.Set.Episodes[i]
				if !reflect.DeepEqual(a.Episode, b.Episode) || a.Continues != b.Continues || a.Part != b.Part || !reflect.DeepEqual(a.Mask, b.Mask) {
					t.Errorf("%s: episode %d is another one", test.settings, i)
				}
			}
			if !reflect.DeepEqual(got.Split, want.Split) || !reflect.DeepEqual(got.Scale, want.Scale) {
				t.Errorf("%s: other parts or scales", test.settings)
			}
		}
	}
}

// TestAgain_OlderSubmission: what a client of an older release has submitted does not say whether parts continue.
func TestAgain_OlderSubmission(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.csv")
	table(t, path, 1)
	c, _, folder := ledRun(t, path, "env.split=time", "env.observe=y", "env.time=none")
	kept := filepath.Join(folder, store.NormalisationFile)
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	older := strings.Replace(string(text), `"divided": true`, `"dt": 0`, 1)
	if err := os.WriteFile(kept, []byte(older), 0o600); err != nil || older == string(text) {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Recordings(c, folder); err == nil || !strings.Contains(err.Error(), "older release") {
		t.Errorf("got %v", err)
	}
	if _, err := PrepareAgain(c, folder, 1); err != nil {
		t.Error(err)
	}
}

// TestAgain_WithoutTheDataSet: the files do, where the host's data set is gone.
func TestAgain_WithoutTheDataSet(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.csv")
	table(t, path, 1)
	c, p, folder := ledRun(t, path, "env.observe=y", "env.time=none")
	if err := os.RemoveAll(store.DataFolder(filepath.Dir(folder))); err != nil {
		t.Fatal(err)
	}
	if again, err := PrepareAgain(c, folder, 1); err != nil || again.Golden != p.Golden {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := PrepareAgain(c, folder, 1); err == nil || !strings.Contains(err.Error(), "does not have the data set") {
		t.Errorf("got %v", err)
	}
	if _, err := Recordings(c, folder); err == nil || !strings.Contains(config.HintOf(err), "or the data set "+p.Data.hash) {
		t.Errorf("got %v", err)
	}
}
