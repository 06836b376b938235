package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/wire"
)

// Workers with keys of their own sum at a broker that enforces what each key may say and hear, to the bits of the star. A
// thief with a worker's key, who asks all of them for what they keep again and again, changes nothing.
func TestExchange_ShardedWithKeys(t *testing.T) {
	s, _, log := newSite(t)
	cfg := toyConfig(t, 20, 8)
	want := undisturbed(t, cfg, hostileSize)
	cfg.Exchange, cfg.Chunk = coordinator.Sharded, 8192
	c, err := coordinator.New(cfg, initial(hostileSize), s.connect(cluster.CoordinatorKey), nil, s.log)
	if err != nil {
		t.Fatal(err)
	}
	program := together(t, 3, func() *toy { return &toy{size: hostileSize} })
	for i := range 3 {
		id := fmt.Sprint("w", i)
		key := []string{cluster.WorkerKey, "worker-second.nk"}[i%2]
		w := s.member(s.connect(key), id, program)
		s.serve(id, w)
	}
	h := newThief(t, s)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		subjects, _ := wire.SubjectsOf("toy")
		encoder := wire.NewEncoder()
		for lease := uint64(1); ; lease++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			victim := wire.Name("w1", keyName(t, s.dir, "worker-second.nk"))
			data, err := encoder.Encode(&wire.Pull{Header: wire.Header{Run: "toy", From: "thief", Term: 1}, Lease: 1 + lease%64, Count: 10})
			if err == nil {
				h.conn.Publish(wire.By(subjects.Peer(victim), h.key), data)
			}
		}
	}()
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := hash(c); got != want {
		t.Errorf("SHA-256 %s, want %s", got, want)
	}
	if n := c.Stats().Summed; n < 10 {
		t.Errorf("workers summed in %d of 20 steps:\n%s", n, log)
	}
}
