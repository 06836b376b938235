package lead

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
)

// TestHost_EndsWhileAStartIsFitted: a run that has not made a step when the host ends is interrupted, not failed, and
// goes on with the next host.
func TestHost_EndsWhileAStartIsFitted(t *testing.T) {
	b, err := cluster.Start(cluster.Config{Listen: "127.0.0.1:0", Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	kinds := config.Builtin().Kinds()
	r, err := kinds.Resolve(config.Sources{Preset: "modes/smoke", Arguments: []string{"model.start=arhmm"}})
	if err != nil {
		t.Fatal(err)
	}
	var h *Host
	h = New(Config{
		RunsDir: t.TempDir(), Kinds: kinds, Log: hclog.NewNullLogger(),
		Connect: func(party string) (*cluster.Bus, error) {
			if strings.HasPrefix(party, "run ") {
				h.end(errShutdown)
			}
			return cluster.Connect(cluster.BusConfig{Server: b, Name: party, Log: hclog.NewNullLogger()})
		},
	})
	if err := h.Connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	if h.bans, err = cluster.NewBanList(h.cfg.RunsDir, h.bus, h.log); err != nil {
		t.Fatal(err)
	}
	info, err := h.Advance(t.Context(), Order{Name: "new", Config: r.Config}, 0)
	if !errors.Is(err, ErrPartInterrupted) {
		t.Errorf("got %v", err)
	}
	if info.State != store.Interrupted || info.Stopped || !info.Host || info.ExitReason != errShutdown.Error() {
		t.Errorf("run.json says %+v", info)
	}
}
