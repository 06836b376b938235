package cmd

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// TestExport_WarnsOfRounding: data so far from zero that float32 loses them are warned of where the files take float32,
// and only there.
func TestExport_WarnsOfRounding(t *testing.T) {
	t.Parallel()
	c, out := newCLI(t), t.TempDir()
	var b strings.Builder
	b.WriteString("t,pressure,speed\n")
	for i := range 120 {
		fmt.Fprintf(&b, "%d,%.4f,%.4f\n", i, 1e8+3*math.Sin(float64(i)/3), 5+math.Cos(float64(i)/4))
	}
	c.must(append([]string{"train", "files", "env.files=" + c.write("far.csv", b.String()), "--name", "far"}, small...)...)
	said := c.must("export", "far", "--format", "onnx", "-o", filepath.Join(out, "onnx")).err
	for _, want := range []string{"pressure lies ", " standard deviations from zero", "--format npz"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	if strings.Contains(said, "speed") {
		t.Errorf("a channel near zero is warned of:\n%s", said)
	}
	if said := c.must("export", "far", "--format", "npz", "-o", filepath.Join(out, "npz")).err; said != "" {
		t.Errorf("npz: %s", said)
	}
}
