package cmd

import (
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
)

// TestTrain_EverySmokePreset: each trains to its end and prints what to do next, whether or not its environment has an
// evaluation protocol.
func TestTrain_EverySmokePreset(t *testing.T) {
	t.Parallel()
	for _, p := range config.Presets() {
		if !strings.HasSuffix(p.Name, "/smoke") {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t)
			r := c.must("train", p.Name, "--name", "a", "--workers", "2")
			if !strings.Contains(r.out, "params_sha256") || !strings.Contains(r.out, "next\n") {
				t.Errorf("stdout:\n%s", r.out)
			}
			if info := c.info("a"); info.State != store.Finished {
				t.Errorf("run.json holds %+v", info)
			}
		})
	}
}
