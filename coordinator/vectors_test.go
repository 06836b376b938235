package coordinator_test

import (
	"testing"

	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// Where the referee computes every block, too, what it has computed is not kept: a long run needs no more memory than a
// short one.
func TestVectors_OfTheRefereeAreNotKept(t *testing.T) {
	cfg := config(t)
	cfg.Audit, cfg.AuditHere, cfg.Referee = 1, true, trusted(toySize)
	bus := wire.NewMemory(nil)
	c := newCoordinator(t, cfg, bus, nil)
	defer startWorker(t, t.Context(), bus, worker.Config{ID: "a"}, nil)()
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := c.Vectors(); n > cfg.Shards {
		t.Errorf("%d vectors are kept after %d steps of at most %d blocks", n, cfg.Steps, cfg.Shards)
	}
}
