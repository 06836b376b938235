package lead

import (
	"errors"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
)

// TestHost_EndsWhileAStartIsFitted: a run that has not made a step when the host ends is interrupted, not failed, and
// goes on with the next host.
func TestHost_EndsWhileAStartIsFitted(t *testing.T) {
	r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "modes/smoke", Arguments: []string{"model.start=arhmm"}})
	if err != nil {
		t.Fatal(err)
	}
	h := connectedHost(t, startBroker(t), func(h *Host, party string) {
		if strings.HasPrefix(party, "run ") {
			h.end(errShutdown)
		}
	})
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
