//go:build long && linux && amd64

package cmd

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var mostKills = flag.Int("kills", 12, "kill each command at so many of its system calls, evenly spread; 0: at all of them")

// TestKilled_AtEverySystemCall kills each command at system calls that change a file. With -kills 0 these are all of its
// calls, which takes an hour (docs/testing.md).
func TestKilled_AtEverySystemCall(t *testing.T) {
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
		kills := calls
		if *mostKills > 0 {
			kills = min(calls, *mostKills)
		}
		for i := range kills {
			killedAt(t, made, line, 1+i*calls/kills, want)
		}
		t.Logf("%s: %d calls change something", line, calls)
	}
}
