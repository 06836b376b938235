//go:build long && linux && amd64

package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestKilled_AtEverySystemCall kills each command at each of its system calls that change a file, at most mostKills of
// them, evenly spread.
func TestKilled_AtEverySystemCall(t *testing.T) {
	const mostKills = 12
	made := killedScene(t)
	if err := os.Rename(writeMonths(t, 60), filepath.Join(made, "months.csv")); err != nil {
		t.Fatal(err)
	}
	c := newCLI(t)
	c.must("data", "generate", "noise/smoke", "--episodes", "2", "--length", "20", "--out", filepath.Join(made, "data.npz"))
	for _, line := range slices.Concat(killedLines, []string{
		"fit months.csv --budget 1s --families arhmm --workers 1 --name sales --quiet",
		"forecast done --data data.npz --horizon 3 --out forecast.csv",
	}) {
		calls, want := undisturbed(t, made, line)
		for i := range min(calls, mostKills) {
			killedAt(t, made, line, 1+i*calls/min(calls, mostKills), want)
		}
		t.Logf("%s: %d calls change something", line, calls)
	}
}
