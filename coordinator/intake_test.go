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
	b := &box{opening: 7, from: head, step: 3, chunks: chunks, values: make([]float32, 10)}
	in := newIntake()
	in.open(5, b)
	return in, b, func(i int) *wire.Chunk {
		data := make([]byte, chunks.Bytes(i))
		for j := range data {
			data[j] = byte(i + 1)
		}
		return &wire.Chunk{Header: head, Lease: 5, Step: 3, Index: i, CRC: wire.Checksum(data), Data: data}
	}
}

// stores reports whether a chunk is stored.
func stores(in *intake, c *wire.Chunk) bool {
	_, ok := in.store(c)
	return ok
}

// Nothing but a chunk that is wanted, whole and the worker's own is stored, and that once.
func TestIntake_StoresWhatIsWanted(t *testing.T) {
	in, b, chunk := openBox(t)
	if stores(in, chunk(0)) {
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
		if spoil(c); stores(in, c) {
			t.Errorf("a chunk with another %s was stored", name)
		}
	}
	for _, v := range b.values {
		if v != 0 {
			t.Fatalf("something was written: %v", b.values)
		}
	}
	has := func(i int) bool { return b.states[i].Load() == kept }
	if s, ok := in.store(chunk(0)); !ok || !has(0) || has(1) || !s.finite || s.CRC != chunk(0).CRC || s.opening != 7 || s.Data != nil {
		t.Error("the chunk was not stored")
	}
	if stores(in, chunk(0)) {
		t.Error("the chunk was stored twice")
	}
	infinite := chunk(1)
	copy(infinite.Data, wire.FloatBytes([]float32{float32(math.Inf(1))}))
	infinite.CRC = wire.Checksum(infinite.Data)
	if s, ok := in.store(infinite); !ok || s.finite {
		t.Error("the infinity was not noted")
	}
	in.close(5)
	b.want(2, 3)
	if stores(in, chunk(2)) {
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
					if stores(in, chunk(i)) {
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
