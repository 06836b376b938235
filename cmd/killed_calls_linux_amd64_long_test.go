//go:build long && linux && amd64

package cmd

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var mostKills = flag.Int("kills", 12,
	"kill a command with more than 40 system calls that change a file at so many of them, evenly spread; 0: at all of them")

// TestKilled_AtEverySystemCall kills each command at each system call that changes a file. Commands that train have
// hundreds: -kills says at how many of these (docs/testing.md).
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
		t.Run(line, func(t *testing.T) {
			calls, want := undisturbed(t, made, line)
			kills := calls
			if *mostKills > 0 && calls > 40 {
				kills = min(calls, *mostKills)
			}
			for i := range kills {
				killedAt(t, made, line, 1+i*calls/kills, want)
			}
			t.Logf("%d calls change something, killed at %d", calls, kills)
		})
	}
}
