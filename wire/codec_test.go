package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// samples holds one message of each kind with every field set.
func samples() []Message {
	h := Header{Run: "run-1", From: "w1", Term: 3, Token: 1<<63 + 5}
	return []Message{
		&Introduce{h},
		&Hello{h, "v1.2", 4, []Numeric{{"exp", 1 << 60}, {"gemm", 7}}},
		&Welcome{h, 150_000, 262_144, time.Second, []byte("job"), HashData(nil), MaxData, Int16, Int8, 1 << 63, 8, []int{256, 7}},
		&Refusal{Header{Run: h.Run, From: h.From, Token: h.Token}, "reason", "remedy"},
		&Fetch{h, HashData(nil), []Range{{3, 1}, {5, 9}}},
		&Piece{h, 3, 0xfeed, []byte{5, 6, 7}},
		&Ready{h, 150_000, []string{"loss", "kl"}, HashData(nil), HashData([]byte{1})},
		&Theta{h, 17, 1, 2, 3, Int8, 16, 4, 0xdeadbeef, []byte{1, 2, 3, 4}},
		&Need{h, 17, []Range{{0, 2}, {5, 1}}},
		&Lease{h, 99, 17, 1, 2, Validate, 4, 2, true, 8},
		&Result{h, 99, 17, 2, Gradient, 4, 2, []float32{1.5, float32(math.Inf(1))}, 150_000, 0xcafe, HashData(nil), "digests", "fault", 3 * time.Second},
		&Pull{h, 99, 1, 2},
		&Chunk{h, 99, 17, 1, 0xffffffff, []byte{9, 8, 7, 6}},
		&Heartbeat{h, 17, []Progress{{99, 1}, {100, 0}}, 61_500, 48 << 20},
		&Bye{h},
		&End{h, "done"},
		&Seek{h, "v1.2", 4, []Numeric{{"exp", 1 << 60}}, "run-1", 7},
		&Assign{h, "run-2", 7, 1 << 40},
		&Reduce{h, 99, 17, 1, 2, 3, 8, 4, 2, true, []Source{{0, 4, "w1@key", 98, "digests"}, {4, 4, "w2", 97, ""}}},
		&Relay{h, 17, 1, []string{"w1@key", "w2"}, "digests"},
		&Offer{h, "0123456789abcdef"},
		&Share{h, true, "why"},
		&ThetaAt{h, 17, 1, MaxPlace, 1 << 63, 0xdeadbeef},
		&ChunksAt{h, 99, 17, 1, 2, 4096, 0xcafe},
		&Stay{h, 17, 2, 1, 5},
	}
}

// carriesChunk reports whether Peek cannot read m.
func carriesChunk(m Message) bool {
	return TypeOf(m) == KindTheta || TypeOf(m) == KindChunk || TypeOf(m) == KindPiece
}

func TestDecode_RoundTrip(t *testing.T) {
	enc := NewEncoder()
	seen := map[Kind]bool{}
	for _, m := range samples() {
		data, err := enc.Encode(m)
		if err != nil {
			t.Fatalf("%T: %v", m, err)
		}
		got, err := Decode(bytes.Clone(data))
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%T: got %+v, %v; want %+v", m, got, err, m)
		}
		seen[TypeOf(m)] = true
		if k := KindOf(data); k != TypeOf(m) || "*wire."+k.String() != fmt.Sprintf("%T", m) {
			t.Errorf("%T is said to be a %s", m, k)
		}
		if carriesChunk(m) {
			continue
		}
		p, err := Peek(data)
		want := Prefix{Version, TypeOf(m), "run-1", "w1", m.Head().Token}
		if TypeOf(m) == KindRefusal {
			want.Token = 0
		}
		if err != nil || p != want {
			t.Errorf("%T: Peek: got %+v, %v; want %+v", m, p, err, want)
		}
	}
	for k := KindIntroduce; k <= lastKind; k++ {
		if !seen[k] {
			t.Errorf("kind %d has no sample", k)
		}
	}
	if newMessage(lastKind+1) != nil {
		t.Error("a kind after the last exists: add it to this test")
	}
}

// A Refusal is read whatever its version; everything else of another version is ErrVersion.
func TestDecode_OtherVersion(t *testing.T) {
	for _, m := range samples() {
		enc := NewEncoder()
		enc.version++
		data, _ := enc.Encode(m)
		got, err := Decode(data)
		if TypeOf(m) == KindRefusal {
			if err != nil || !reflect.DeepEqual(got, m) {
				t.Errorf("Refusal of version %d: got %+v, %v", Version+1, got, err)
			}
			continue
		}
		if !errors.Is(err, ErrVersion) {
			t.Errorf("%T of version %d: got %v, want ErrVersion", m, Version+1, err)
		}
		if carriesChunk(m) {
			continue
		}
		if p, err := Peek(data); err != nil || p.Version != Version+1 || p.From != "w1" {
			t.Errorf("%T: Peek: %+v, %v", m, p, err)
		}
	}
}

func TestDecode_Malformed(t *testing.T) {
	for _, m := range samples() {
		data, _ := NewEncoder().Encode(m)
		for cut := range data {
			if _, err := Decode(data[:cut]); !errors.Is(err, ErrMalformed) {
				t.Errorf("%T cut to %d of %d bytes: got %v, want ErrMalformed", m, cut, len(data), err)
			}
		}
		if _, err := Decode(append(bytes.Clone(data), 0)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%T with a byte too many: got %v, want ErrMalformed", m, err)
		}
	}
}

// A bit that flips on the way is noticed: by the seal, or in a chunk by its checksum.
func TestDecode_Changed(t *testing.T) {
	for _, m := range samples() {
		sent, _ := NewEncoder().Encode(m)
		sent = bytes.Clone(sent)
		for i := range 8 * len(sent) {
			data := bytes.Clone(sent)
			data[i/8] ^= 1 << (i % 8)
			if p, err := Peek(data); err == nil {
				t.Errorf("%T: bit %d: Peek gives %+v", m, i, p)
			}
			got, err := Decode(data)
			switch got := got.(type) {
			case nil:
			case *Theta:
				if want := m.(*Theta); bytes.Equal(got.Data, want.Data) || got.CRC != want.CRC || got.Index != want.Index {
					t.Errorf("%T: bit %d: got %+v", m, i, got)
				}
			case *Chunk:
				if want := m.(*Chunk); bytes.Equal(got.Data, want.Data) || got.CRC != want.CRC || got.Index != want.Index {
					t.Errorf("%T: bit %d: got %+v", m, i, got)
				}
			case *Piece:
				if want := m.(*Piece); bytes.Equal(got.Data, want.Data) || got.CRC != want.CRC || got.Index != want.Index {
					t.Errorf("%T: bit %d: got %+v", m, i, got)
				}
			default:
				t.Errorf("%T: bit %d: got %+v, %v", m, i, got, err)
			}
		}
	}
}

// forged is a message whose every length claims four gigabytes.
func forged(kind Kind, fields ...func(*msgpack.Encoder)) []byte {
	var buf bytes.Buffer
	e := msgpack.NewEncoder(&buf)
	e.EncodeArrayLen(around(kind) + len(fields))
	e.EncodeUint(Version)
	e.EncodeUint(uint64(kind))
	e.EncodeString("run")
	e.EncodeString("w")
	e.EncodeUint(1)
	e.EncodeUint(2)
	for _, f := range fields {
		f(e)
	}
	return buf.Bytes()
}

func forgeries() [][]byte {
	n := func(e *msgpack.Encoder) { e.EncodeUint(7) }
	one := func(e *msgpack.Encoder) { e.EncodeUint(1) }
	huge := func(e *msgpack.Encoder) { e.EncodeBytesLen(math.MaxUint32 - 1) }
	text := func(e *msgpack.Encoder) { e.EncodeString("text") }
	list := func(e *msgpack.Encoder) { e.EncodeArrayLen(math.MaxUint32 - 1) }
	allowed := func(e *msgpack.Encoder) { e.EncodeArrayLen(MaxRanges) } // but there is nothing behind it
	return [][]byte{
		forged(KindChunk, n, n, n, n, huge),
		forged(KindTheta, n, n, n, n, one, n, n, n, huge),
		forged(KindTheta, n, n, n, n, n, n, n, n, one), // no such coding
		forged(KindWelcome, n, n, n, huge),
		forged(KindWelcome, n, n, n, n, huge, n),
		forged(KindFetch, huge, list),
		forged(KindFetch, text, list),
		forged(KindPiece, n, n, huge),
		forged(KindHeartbeat, n, list),
		forged(KindNeed, n, list),
		forged(KindNeed, n, allowed),
		forged(KindFetch, text, allowed),
		forged(KindReady, n, list, huge, huge),
		forged(KindHello, huge, n, list),
		forged(KindHello, text, n, list),
		forged(KindSeek, text, n, list),
		forged(KindReduce, n, n, n, n, n, n, n, n, n, list),
		forged(KindRelay, n, n, list),
		forged(KindRelay, n, n, n, huge),
		forged(KindOffer, huge),
		forged(KindShare, one, huge),
		{0xdd, 0xff, 0xff, 0xff, 0xff, 1, 2}, // array32 of 4 G elements
		{0x96, 1, 2, 0xdb, 0xff, 0xff, 0xff, 0xff},
	}
}

func TestDecode_ForgedLengthsDoNotAllocate(t *testing.T) {
	for i, data := range forgeries() {
		if _, err := Decode(data); err == nil {
			t.Errorf("forgery %d was accepted", i)
		}
		if got := decodeBytes(data, 50); got > allowance(data) {
			t.Errorf("forgery %d of %d bytes made Decode allocate %d bytes", i, len(data), got)
		}
	}
}

// allowance is what Decode may allocate: the message struct, error texts, and items of lists, of which there is at most
// one per byte of input.
func allowance(data []byte) uint64 { return 16*uint64(len(data)) + 4096 }

// decodeBytes is the mean number of bytes that Decode allocates.
func decodeBytes(data []byte, runs uint64) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		Decode(data)
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / runs
}

func FuzzDecode(f *testing.F) {
	for _, m := range samples() {
		data, _ := NewEncoder().Encode(m)
		f.Add(bytes.Clone(data))
	}
	for _, data := range forgeries() {
		f.Add(data)
	}
	enc := NewEncoder()
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if got := decodeBytes(data, 1); got > allowance(data)+1<<14 { // other goroutines of the fuzzer allocate too
			t.Errorf("Decode of %d bytes allocated %d", len(data), got)
		}
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
				t.Errorf("got %v", err)
			}
			return
		}
		again, err := enc.Encode(m)
		if err != nil {
			t.Fatalf("encode what was decoded: %v", err)
		}
		back, err := Decode(bytes.Clone(again))
		if err != nil {
			t.Fatalf("round trip of %+v: %v", m, err)
		}
		if third, _ := NewEncoder().Encode(back); !bytes.Equal(third, again) {
			t.Errorf("round trip: got %x, want %x", third, again)
		}
	})
}

func TestEncode_BreaksBound(t *testing.T) {
	for _, m := range []Message{
		&Refusal{Reason: string(make([]byte, MaxText+1))}, &ThetaAt{At: MaxPlace + 1}, &ChunksAt{At: MaxPlace + 1}, &Offer{Place: string(make([]byte, MaxName+1))},
	} {
		if _, err := NewEncoder().Encode(m); !errors.Is(err, ErrMalformed) {
			t.Errorf("%T: got %v, want ErrMalformed", m, err)
		}
	}
}
