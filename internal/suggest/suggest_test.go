package suggest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// suggested is what is suggested for a file of one recording with so many steps.
func suggested(t *testing.T, steps int, how files.Options) Suggestion {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte("y\n"+strings.Repeat("1\n2\n", steps/2)), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := files.Read([]string{path}, how)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := d.Summarise()
	if err != nil {
		t.Fatal(err)
	}
	g, err := For([]string{path}, how, "out.npz", d, summary)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// One recording has to be cut before it can be divided, by lengths of its own where those that were asked for leave too
// few.
func TestFor_CutsARecording(t *testing.T) {
	for _, how := range []files.Options{{}, {Cut: 400}} {
		g := suggested(t, 500, how)
		if c := g.Conversion; c == nil || c.To != "out.npz" || c.How.Cut != 50 {
			t.Fatalf("cut at %d: got conversion %+v", how.Cut, c)
		}
		if want := []string{"env.files=out.npz", "env.window=50"}; !slices.Equal(g.Settings, want) {
			t.Errorf("cut at %d: got %q, want %q", how.Cut, g.Settings, want)
		}
	}
}

func TestFor_TooFewSteps(t *testing.T) {
	if g := suggested(t, 30, files.Options{}); g.Preset != "" || g.Conversion != nil || !strings.Contains(g.Why, "30 steps are too few") {
		t.Errorf("got %+v", g)
	}
}
