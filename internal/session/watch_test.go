package session

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/registry"
)

// A run with workers elsewhere gets advice once if its steps wait for messages, and none if they wait for gradients.
func TestWatch_AdvisesWhenMessagesAreTheLimit(t *testing.T) {
	resolved, err := registry.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		compute float64
		want    int
	}{{0.1, 1}, {0.9, 0}} {
		var log bytes.Buffer
		w := &Watch{log: hclog.New(&hclog.LoggerOptions{Output: &log}), adviser: newAdviser(resolved.Config)}
		for range 100 {
			w.advise(coordinator.StepReport{Seconds: 1, Compute: c.compute, Work: 2 * c.compute, Workers: 2, BytesIn: 2e6, BytesOut: 1e6})
		}
		if n := strings.Count(log.String(), "per step (4 MB, at about "); n != c.want {
			t.Errorf("%g s of 1 s computed: told %d times, want %d\n%s", c.compute, n, c.want, log.String())
		}
	}
}
