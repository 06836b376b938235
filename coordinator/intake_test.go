package coordinator

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

func openBox(t *testing.T) (*intake, *box, func(i int) *wire.Chunk) {
	t.Helper()
	head := wire.Header{Run: "r", From: "w", Term: 2, Token: 9}
	chunks := wire.NewChunking(10, 16)
	b := &box{from: head, step: 3, chunks: chunks, values: make([]float32, 10)}
	in := &intake{boxes: make(map[uint64]*box)}
	in.open(5, b)
	return in, b, func(i int) *wire.Chunk {
		data := make([]byte, chunks.Bytes(i))
		for j := range data {
			data[j] = byte(i + 1)
		}
		return &wire.Chunk{Header: head, Lease: 5, Step: 3, Index: i, CRC: wire.Checksum(data), Data: data}
	}
}

// Nothing but a chunk that is wanted, whole and the worker's own is stored, and that once.
func TestIntake_StoresWhatIsWanted(t *testing.T) {
	in, b, chunk := openBox(t)
	if in.store(chunk(0)) {
		t.Error("a chunk was stored that nobody asked for")
	}
	b.want(0, 2)
	for name, spoil := range map[string]func(c *wire.Chunk){
		"lease":    func(c *wire.Chunk) { c.Lease++ },
		"step":     func(c *wire.Chunk) { c.Step++ },
		"run":      func(c *wire.Chunk) { c.Run = "s" },
		"sender":   func(c *wire.Chunk) { c.From = "x" },
		"term":     func(c *wire.Chunk) { c.Term++ },
		"token":    func(c *wire.Chunk) { c.Token++ },
		"index":    func(c *wire.Chunk) { c.Index = 3 },
		"unwanted": func(c *wire.Chunk) { c.Index = 2; c.Data = c.Data[:8]; c.CRC = wire.Checksum(c.Data) },
		"length":   func(c *wire.Chunk) { c.Data = c.Data[:12]; c.CRC = wire.Checksum(c.Data) },
		"checksum": func(c *wire.Chunk) { c.Data[0] ^= 1 },
	} {
		c := chunk(0)
		if spoil(c); in.store(c) {
			t.Errorf("a chunk with another %s was stored", name)
		}
	}
	for _, v := range b.values {
		if v != 0 {
			t.Fatalf("something was written: %v", b.values)
		}
	}
	if !in.store(chunk(0)) || !b.has(0) || b.has(1) || b.odd.Load() || b.crcs[0] != chunk(0).CRC {
		t.Error("the chunk was not stored")
	}
	if in.store(chunk(0)) {
		t.Error("the chunk was stored twice")
	}
	odd := chunk(1)
	copy(odd.Data, wire.FloatBytes([]float32{float32(math.Inf(1))}))
	odd.CRC = wire.Checksum(odd.Data)
	if !in.store(odd) || !b.odd.Load() {
		t.Error("the infinity was not noted")
	}
	in.close(5)
	b.want(2, 3)
	if in.store(chunk(2)) {
		t.Error("a chunk was stored in a box that is closed")
	}
}

// Of many that bring the same chunks at the same time one stores each, and nobody writes after the box is closed.
func TestIntake_ManyAtOnce(t *testing.T) {
	for range 200 {
		in, b, chunk := openBox(t)
		b.want(0, 3)
		var times atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for i := range 3 {
					if in.store(chunk(i)) {
						times.Add(1)
					}
				}
			})
		}
		in.close(5)
		for i := range b.values { // under the race detector a write beside this is found
			b.values[i]++
		}
		all.Wait()
		if n := times.Load(); n > 3 {
			t.Fatalf("3 chunks were stored %d times", n)
		}
	}
}
