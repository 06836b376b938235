package worker

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/wire"
)

// share plays a coordinator with a data set. It says welcome, sends what send returns for a Fetch, and ends the run
// when the worker is ready.
type share struct {
	data    []byte
	offer   wire.Welcome
	fetches [][]wire.Range
	readies int
}

func newShare(data []byte) *share {
	s := &share{data: data, offer: welcome}
	s.offer.DataHash, s.offer.DataSize = wire.HashData(data), len(data)
	return s
}

// answer is for lead.
func (s *share) answer(send func([]wire.Range) []wire.Message) func(wire.Message) []wire.Message {
	return func(m wire.Message) []wire.Message {
		switch m := m.(type) {
		case *wire.Hello:
			offer := s.offer
			return []wire.Message{&offer}
		case *wire.Fetch:
			s.fetches = append(s.fetches, m.Ranges)
			return send(m.Ranges)
		case *wire.Ready:
			s.readies++
			return []wire.Message{&wire.End{Reason: "done"}}
		}
		return nil
	}
}

// piece is piece i of 64 bytes.
func (s *share) piece(i int) *wire.Piece {
	from, to := wire.Pieces(len(s.data), 64).Span(i)
	return &wire.Piece{Index: i, CRC: wire.Checksum(s.data[from:to]), Data: s.data[from:to]}
}

// first sends the first piece that is lacking.
func (s *share) first(lacking []wire.Range) []wire.Message {
	if len(lacking) == 0 {
		return nil
	}
	return []wire.Message{s.piece(lacking[0].First)}
}

// keeper builds programs and keeps the data sets that it was given.
type keeper struct{ given [][]byte }

func (k *keeper) build(_, data []byte, _ int) (Program, error) {
	k.given = append(k.given, data)
	return still{}, nil
}

func content(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * i / 7)
	}
	return data
}

func TestFetch(t *testing.T) {
	for _, size := range []int{1, 63, 64, 65, 1000} {
		bus, s, k := wire.NewMemory(nil), newShare(content(size)), &keeper{}
		lead(t, bus, s.answer(s.first))
		w := newWorker(t, bus, k.build)
		if err := w.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(k.given) != 1 || !bytes.Equal(k.given[0], s.data) || s.readies != 1 {
			t.Errorf("%d bytes: built %d times, ready %d times", size, len(k.given), s.readies)
		}
		if n := (size + 63) / 64; len(s.fetches) != n+1 || len(s.fetches[n]) > 0 {
			t.Errorf("%d bytes: fetched with %v", size, s.fetches)
		}
		if hash, data := w.Data(); hash != s.offer.DataHash || !bytes.Equal(data, s.data) {
			t.Errorf("%d bytes: %d bytes under %q were kept", size, len(data), hash)
		}
	}
}

// Pieces out of order, twice, late and lost: what is lacking is said exactly, and again while nothing comes.
func TestFetch_Lacking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, s, k := wire.NewMemory(nil), newShare(content(64*6)), &keeper{}
		script := [][]wire.Message{
			{s.piece(4)}, {s.piece(1), s.piece(1)}, {s.piece(4)}, nil, nil, {s.piece(0)}, {s.piece(5)}, {s.piece(2)}, {s.piece(3)}, nil,
		}
		lead(t, bus, s.answer(func([]wire.Range) []wire.Message {
			next := script[0]
			script = script[1:]
			return next
		}))
		start := time.Now()
		if err := newWorker(t, bus, k.build).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := [][]wire.Range{
			{{First: 0, Count: 6}},
			{{First: 0, Count: 4}, {First: 5, Count: 1}},
			{{First: 0, Count: 1}, {First: 2, Count: 2}, {First: 5, Count: 1}},
			{{First: 0, Count: 1}, {First: 2, Count: 2}, {First: 5, Count: 1}}, // nothing has come for a while
			{{First: 0, Count: 1}, {First: 2, Count: 2}, {First: 5, Count: 1}},
			{{First: 0, Count: 1}, {First: 2, Count: 2}, {First: 5, Count: 1}},
			{{First: 2, Count: 2}, {First: 5, Count: 1}},
			{{First: 2, Count: 2}},
			{{First: 3, Count: 1}},
			nil,
		}
		if !slices.EqualFunc(s.fetches, want, slices.Equal) {
			t.Errorf("got %v, want %v", s.fetches, want)
		}
		if d := time.Since(start); d < 3*welcome.Heartbeat/4 || d > welcome.Heartbeat*3/2 {
			t.Errorf("the worker asked again within %v", d)
		}
	})
}

// What is no piece of the data set changes nothing.
func TestFetch_WrongPieces(t *testing.T) {
	bus, s, k := wire.NewMemory(nil), newShare(content(100)), &keeper{}
	lead(t, bus, s.answer(func(lacking []wire.Range) []wire.Message {
		if len(lacking) == 0 {
			return nil
		}
		short, long, changed := s.piece(1), s.piece(1), s.piece(0)
		short.Data = short.Data[:35]
		short.CRC = wire.Checksum(short.Data)
		long.Data = make([]byte, 64)
		long.CRC = wire.Checksum(long.Data)
		changed.Data = make([]byte, 64)
		absurd, beyond := s.piece(0), s.piece(0)
		absurd.Index, beyond.Index = wire.MaxCount, 2
		return []wire.Message{short, long, changed, absurd, beyond, &wire.Piece{}, s.piece(lacking[0].First)}
	}))
	w := newWorker(t, bus, k.build)
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(s.fetches) != 3 || len(k.given) != 1 || !bytes.Equal(k.given[0], s.data) {
		t.Errorf("fetched with %v, built %d times", s.fetches, len(k.given))
	}
}

// A data set without the hash under which it was offered is fetched once more, and never given to a program.
func TestFetch_WrongHash(t *testing.T) {
	for _, lies := range []int{1, 2} {
		bus, s, k := wire.NewMemory(nil), newShare(content(100)), &keeper{}
		whole := 0
		lead(t, bus, s.answer(func(lacking []wire.Range) []wire.Message {
			if len(lacking) == 0 {
				whole++
				return nil
			}
			p := s.piece(lacking[0].First)
			if whole < lies {
				p.Data = bytes.Clone(p.Data)
				p.Data[0]++
				p.CRC = wire.Checksum(p.Data)
			}
			return []wire.Message{p}
		}))
		w := newWorker(t, bus, k.build)
		err := w.Run(t.Context())
		if lies == 1 && (err != nil || len(k.given) != 1 || !bytes.Equal(k.given[0], s.data)) {
			t.Errorf("got %v, built %d times", err, len(k.given))
		}
		hash, data := w.Data()
		if lies == 2 && (!errors.Is(err, ErrData) || len(k.given) != 0 || hash != "" || data != nil) {
			t.Errorf("got %v, built %d times, kept %d bytes under %q", err, len(k.given), len(data), hash)
		}
	}
}

// An offer that cannot be meant is no welcome: the worker makes no room for it.
func TestWelcome_AbsurdOffers(t *testing.T) {
	hash := wire.HashData(nil)
	for name, offer := range map[string]wire.Welcome{
		"no bytes":   {DataHash: hash},
		"no hash":    {DataSize: 1},
		"short hash": {DataHash: hash[:63], DataSize: 1},
		"odd hash":   {DataHash: "X" + hash[1:], DataSize: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			bus, k, hellos := wire.NewMemory(nil), &keeper{}, 0
			lead(t, bus, func(m wire.Message) []wire.Message {
				if wire.TypeOf(m) != wire.KindHello {
					t.Errorf("%s: the worker says %T", name, m)
				}
				if hellos++; hellos == 3 {
					return []wire.Message{&wire.End{}}
				}
				w := welcome
				w.DataHash, w.DataSize = offer.DataHash, offer.DataSize
				return []wire.Message{&w}
			})
			if err := newWorker(t, bus, k.build).Run(t.Context()); err != nil || len(k.given) > 0 {
				t.Errorf("%s: got %v, built %d times", name, err, len(k.given))
			}
		})
	}
}

// What is local is handed over as it is; what only claims to be it is fetched.
func TestFetch_Local(t *testing.T) {
	for name, size := range map[string]int{"whole": 100, "too short": 99, "none": 0} {
		bus, s, k := wire.NewMemory(nil), newShare(content(100)), &keeper{}
		lead(t, bus, s.answer(s.first))
		own, asked := content(size), []string{}
		w, err := New(Config{Run: "r", ID: "w", Build: k.build, DataSet: func(hash string) []byte {
			asked = append(asked, hash)
			return own
		}}, bus, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(asked, []string{s.offer.DataHash}) || len(k.given) != 1 || !bytes.Equal(k.given[0], s.data) {
			t.Errorf("%s: asked for %v, built %d times", name, asked, len(k.given))
		}
		if shared := len(own) > 0 && &own[0] == &k.given[0][0]; shared != (name == "whole") || shared != (len(s.fetches) == 0) {
			t.Errorf("%s: shared %v, fetched with %v", name, shared, s.fetches)
		}
	}
}

// The newest Welcome decides what is built: a program for an older one that is still being built is not used, and the
// data set is fetched meanwhile.
func TestWelcome_OtherOrderWhileBuilding(t *testing.T) {
	bus, s := wire.NewMemory(nil), newShare(content(100))
	release, built := make(chan bool), []string{}
	w := newWorker(t, bus, func(job, data []byte, _ int) (Program, error) {
		if built = append(built, string(job)); len(built) == 1 {
			<-release
		} else if !bytes.Equal(data, s.data) {
			t.Errorf("given %d bytes", len(data))
		}
		return still{}, nil
	})
	answer := s.answer(s.first)
	lead(t, bus, func(m wire.Message) []wire.Message {
		switch m := m.(type) {
		case *wire.Hello:
			older, newer := welcome, s.offer
			newer.Job = []byte("other")
			return []wire.Message{&older, &newer}
		case *wire.Fetch:
			if len(m.Ranges) == 0 {
				close(release)
			}
		}
		return answer(m)
	})
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(built, []string{"job", "other"}) || s.readies != 1 {
		t.Errorf("built %v, ready %d times", built, s.readies)
	}
}
