package exchange

import (
	"io"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/wire/shm"
)

func openBuffer(t *testing.T) (*Receiver, *buffer, func(i int) *wire.Chunk) {
	t.Helper()
	head := wire.Header{Run: "r", From: "w", Term: 2, Token: 9}
	chunks := wire.NewChunking(10, 16)
	b := &buffer{opening: 7, from: head, step: 3, chunks: chunks, values: make([]float32, 10)}
	in := NewReceiver()
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
func stores(in *Receiver, c *wire.Chunk) bool {
	_, ok := in.Store(c)
	return ok
}

// Nothing but a chunk that is wanted, whole and the worker's own is stored, and that once.
func TestReceiver_StoresWhatIsWanted(t *testing.T) {
	in, b, chunk := openBuffer(t)
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
	if s, ok := in.Store(chunk(0)); !ok || !has(0) || has(1) || !s.Finite || s.CRC != chunk(0).CRC || s.Opening != 7 || s.Data != nil {
		t.Error("the chunk was not stored")
	}
	if stores(in, chunk(0)) {
		t.Error("the chunk was stored twice")
	}
	infinite := chunk(1)
	copy(infinite.Data, wire.FloatBytes([]float32{float32(math.Inf(1))}))
	infinite.CRC = wire.Checksum(infinite.Data)
	if s, ok := in.Store(infinite); !ok || s.Finite {
		t.Error("the infinity was not noted")
	}
	in.Close(5)
	b.want(2, 3)
	if stores(in, chunk(2)) {
		t.Error("a chunk was stored in a buffer that is closed")
	}
}

// Of many that bring the same chunks at the same time one stores each, and nobody writes after the buffer is closed.
func TestReceiver_ManyAtOnce(t *testing.T) {
	for range 200 {
		in, b, chunk := openBuffer(t)
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
		in.Close(5)
		for i := range b.values { // under the race detector a write beside this is found
			b.values[i]++
		}
		all.Wait()
		if n := times.Load(); n > 3 {
			t.Fatalf("3 chunks were stored %d times", n)
		}
	}
}

// laidBuffer is an open buffer, and what a sound message says of its chunks in memory that a twin holds.
func laidBuffer(t *testing.T) (in *Receiver, b *buffer, memory io.ReaderAt, write func(data []byte, at int64), msg wire.ChunksAt) {
	t.Helper()
	in, b, chunk := openBuffer(t)
	host := shm.NewTwin(nil)
	server, err := host.Open(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	server.Expect([]uint64{9})
	link, err := host.Join(t.Context(), server.Place(), 9, 1000)
	if err != nil {
		t.Fatal(err)
	}
	write = func(data []byte, at int64) {
		t.Helper()
		if _, err := link.WriteAt(data, at); err != nil {
			t.Fatal(err)
		}
	}
	var crcs []uint32
	for i := range 3 {
		c := chunk(i)
		write(c.Data, int64(100+16*i))
		crcs = append(crcs, c.CRC)
	}
	msg = wire.ChunksAt{Header: b.from, Lease: 5, Step: 3, First: 0, Count: 3, At: 100, Sum: wire.Combine(crcs)}
	return in, b, server.Client(9), write, msg
}

// Chunks in memory are stored if all of them are wanted, and are the worker's own; what they say is what chunks that came as
// messages would. What is not there, or is something else, is a fault, and can come as chunks nevertheless.
func TestReceiver_ReadsWhatIsWanted(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(m *wire.ChunksAt)
		fault bool
	}{
		"lease":         {spoil: func(m *wire.ChunksAt) { m.Lease++ }},
		"step":          {spoil: func(m *wire.ChunksAt) { m.Step++ }},
		"run":           {spoil: func(m *wire.ChunksAt) { m.Run = "s" }},
		"sender":        {spoil: func(m *wire.ChunksAt) { m.From = "x" }},
		"term":          {spoil: func(m *wire.ChunksAt) { m.Term++ }},
		"token":         {spoil: func(m *wire.ChunksAt) { m.Token++ }},
		"too many":      {spoil: func(m *wire.ChunksAt) { m.Count = 4 }},
		"far too many":  {spoil: func(m *wire.ChunksAt) { m.Count = wire.MaxCount }},
		"beyond":        {spoil: func(m *wire.ChunksAt) { m.First = 3 }},
		"none":          {spoil: func(m *wire.ChunksAt) { m.Count = 0 }},
		"checksum":      {spoil: func(m *wire.ChunksAt) { m.Sum++ }, fault: true},
		"place":         {spoil: func(m *wire.ChunksAt) { m.At += 4 }, fault: true},
		"place far off": {spoil: func(m *wire.ChunksAt) { m.At = wire.MaxPlace }, fault: true},
		"part":          {spoil: func(m *wire.ChunksAt) { m.Count = 2 }, fault: true}, // with the checksum of all
	} {
		in, b, memory, _, msg := laidBuffer(t)
		b.want(0, 3)
		c.spoil(&msg)
		if list, err := in.Read(&msg, memory); (err != nil) != c.fault || len(list) > 0 {
			t.Errorf("another %s: %d chunks, %v", name, len(list), err)
		}
		for i := range b.states {
			if s := b.states[i].Load(); s != wanted {
				t.Errorf("another %s: chunk %d is in state %d", name, i, s)
			}
		}
	}
	in, b, memory, write, msg := laidBuffer(t)
	for _, states := range [][3]uint32{{wanted, wanted, unwanted}, {kept, wanted, wanted}, {wanted, kept, wanted}} {
		for i, s := range states {
			b.states[i].Store(s)
		}
		if list, err := in.Read(&msg, memory); err != nil || len(list) > 0 {
			t.Errorf("%v: %d chunks, %v", states, len(list), err)
		}
		for i, s := range states {
			if got := b.states[i].Load(); got != s {
				t.Errorf("%v: chunk %d is in state %d", states, i, got)
			}
		}
	}
	infinite := wire.FloatBytes([]float32{float32(math.Inf(1)), 0, 0, 0})
	write(infinite, 116)
	crcs := []uint32{0, wire.Checksum(infinite), 0}
	_, _, chunk := openBuffer(t)
	crcs[0], crcs[2] = chunk(0).CRC, chunk(2).CRC
	msg.Sum = wire.Combine(crcs)
	b.want(0, 3)
	list, err := in.Read(&msg, memory)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d chunks, %v", len(list), err)
	}
	for i, s := range list {
		if s.Index != i || s.CRC != crcs[i] || s.Header != b.from || s.Opening != 7 || s.Finite != (i != 1) || s.Data != nil || b.states[i].Load() != kept {
			t.Errorf("chunk %d: %+v", i, s)
		}
	}
	if list, err := in.Read(&msg, memory); err != nil || len(list) > 0 {
		t.Errorf("read twice: %d chunks, %v", len(list), err)
	}
	in.Close(5)
	b.want(0, 3)
	if list, err := in.Read(&msg, memory); err != nil || len(list) > 0 {
		t.Errorf("read into a buffer that is closed: %d chunks, %v", len(list), err)
	}
}
