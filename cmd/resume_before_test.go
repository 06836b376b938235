package cmd

import (
	"os"
	"path/filepath"
	"testing"
)

// A run of an older program that was killed is resumed. It ends with the parameters that the older program computed for
// the same run without interruption.
func TestResume_RunOfBefore(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{ // params_sha256 of the older program
		"float32": "9a1cfd63c754d9b1fa21144f35df28d6cc2c499df71be15c67f7023da2397ea0",
		"int16":   "6b6455244bf4aca9c1844b79e8fb441b8bf880de6a584301d3f5cf7262460147",
		"diloco":  "24b94fa528ac89c2467352be317c0d430e8b582c2326daac036a19bb0941f25b",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			old := os.DirFS(filepath.Join("..", "store", "checkpoint", "testdata", "before", name))
			if err := os.CopyFS(filepath.Join(c.dir, name), old); err != nil {
				t.Fatal(err)
			}
			for _, empty := range []string{"figures", "tables"} { // not in the test data
				if err := os.Mkdir(filepath.Join(c.dir, name, empty), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			r := c.must("resume", name, "--quiet")
			if got := c.info(name); got.ParametersSHA256 != want || got.Step != 60 {
				t.Errorf("%s after step %d, want %s\n%s", got.ParametersSHA256, got.Step, want, r.err)
			}
		})
	}
}
