package worker

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// moving is parameters whose differences are sent: the coordinator's side, for tests of a worker's.
type moving struct {
	grid          *vector.Grid
	last          *vector.Difference
	chunks        wire.Chunking
	shown, exact  []float32
	before, after held
}

const movingSize = 500 // parameters; three elements stand behind them

func newMoving(t testing.TB) *moving {
	grid, err := vector.NewGrid(vector.Int8, []int{100, movingSize - 100}, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := &moving{
		grid: grid, last: vector.NewDifference(grid), chunks: wire.NewChunking(movingSize+3, 256),
		shown: make([]float32, movingSize+3), exact: make([]float32, movingSize),
	}
	m.after = held{true, 0, 0}
	return m
}

// step makes a step, from pass to pass 0 of the next one.
func (m *moving) step(pass int) {
	r := rand.New(rand.NewPCG(m.after.step, 0))
	for i := range m.exact {
		m.exact[i] += float32(r.NormFloat64())
	}
	m.last.Follow(m.shown[:movingSize], m.exact, 0, m.grid.Blocks())
	m.shown[movingSize] = float32(m.after.step % 100)
	m.before = held{true, m.after.step, pass}
	m.after = held{true, m.after.step + 1, 0}
}

// whole is a chunk of the values.
func (m *moving) whole(i int) *wire.Theta {
	data := slices.Clone(m.chunks.Encode(nil, m.shown, i))
	return &wire.Theta{Step: m.after.step, Pass: m.after.pass, Index: i, Count: m.chunks.Count(), CRC: wire.Checksum(data), Data: data}
}

// difference is a chunk of the last difference.
func (m *moving) difference(i int) *wire.Theta {
	msg := m.whole(i)
	from, to := m.chunks.Span(i)
	integers := make([]float32, m.grid.Integers(from, to))
	m.last.Integers(integers, m.shown, from, to)
	msg.Coding, msg.BaseStep, msg.BasePass = wire.Int8, m.before.step, m.before.pass
	msg.Data = wire.Int8.Whole(len(integers)).Encode(nil, integers, 0)
	return msg
}

func (m *moving) assembly() *assembly {
	return &assembly{values: make([]float32, len(m.shown)), changes: m.grid}
}

// take stores a chunk as a worker does.
func (a *assembly) take(msg *wire.Theta, chunks wire.Chunking) bool {
	if !a.sound(msg, chunks) {
		return false
	}
	if !a.known || msg.Step != a.step || msg.Pass != a.pass {
		a.open(msg.Step, msg.Pass, chunks.Count())
	}
	return a.store(msg, chunks)
}

// Differences of every chunk, step after step, give the values that are sent whole.
func TestAssembly_FollowsDifferences(t *testing.T) {
	m := newMoving(t)
	a := m.assembly()
	for i := range m.chunks.Count() {
		if !a.take(m.whole(i), m.chunks) {
			t.Fatalf("chunk %d is not taken", i)
		}
	}
	for step := range 20 {
		m.step(0)
		for i := range m.chunks.Count() {
			msg := m.difference(i)
			if step%3 == 1 && i == 2 {
				msg = m.whole(i) // one that was asked for
			}
			if !a.take(msg, m.chunks) {
				t.Fatalf("step %d: chunk %d is not taken", step, i)
			}
		}
		if !slices.Equal(a.values, m.shown) {
			t.Fatalf("step %d: other values", step)
		}
	}
}

// Differences are added to the values that they belong to, once, and to no others; what is refused changes nothing.
func TestAssembly_Refuses(t *testing.T) {
	for name, spoil := range map[string]func(m *moving, a *assembly, msg *wire.Theta){
		"another step":       func(_ *moving, a *assembly, _ *wire.Theta) { a.held[2].step++ },
		"another pass":       func(_ *moving, a *assembly, _ *wire.Theta) { a.held[2].pass++ },
		"nothing":            func(_ *moving, a *assembly, _ *wire.Theta) { a.held[2] = held{} },
		"forgotten":          func(_ *moving, a *assembly, _ *wire.Theta) { a.forget() },
		"other values":       func(_ *moving, a *assembly, _ *wire.Theta) { a.values[130]++ },
		"already there":      func(m *moving, a *assembly, _ *wire.Theta) { a.take(m.difference(2), m.chunks) },
		"a changed integer":  func(_ *moving, _ *assembly, msg *wire.Theta) { msg.Data[5]++ },
		"a changed exponent": func(_ *moving, _ *assembly, msg *wire.Theta) { msg.Data[len(msg.Data)-1]++ },
		"too short":          func(_ *moving, _ *assembly, msg *wire.Theta) { msg.Data = msg.Data[1:] },
		"other integers": func(_ *moving, _ *assembly, msg *wire.Theta) {
			integers := make([]float32, len(msg.Data))
			wire.Int8.Whole(len(integers)).Decode(integers, 0, msg.Data)
			msg.Coding, msg.Data = wire.Int16, wire.Int16.Whole(len(integers)).Encode(nil, integers, 0)
		},
		"no differences expected": func(_ *moving, a *assembly, _ *wire.Theta) { a.changes = nil },
		"another checksum":        func(_ *moving, _ *assembly, msg *wire.Theta) { msg.CRC++ },
	} {
		m := newMoving(t)
		a := m.assembly()
		for i := range m.chunks.Count() {
			a.take(m.whole(i), m.chunks)
		}
		m.step(0)
		msg := m.difference(2)
		spoil(m, a, msg)
		before := slices.Clone(a.values)
		if a.take(msg, m.chunks) {
			t.Errorf("%s: the difference was taken", name)
		}
		if !slices.Equal(a.values, before) {
			t.Errorf("%s: the values changed", name)
		}
		if whole := m.whole(2); !a.take(whole, m.chunks) || !slices.Equal(a.values[128:192], m.shown[128:192]) {
			t.Errorf("%s: the values are not taken", name)
		}
	}
}

// Whatever comes as a difference, values change to what has the checksum, or not at all.
func FuzzAssembly_Store(f *testing.F) {
	m := newMoving(f)
	m.step(0)
	for i := range m.chunks.Count() {
		msg := m.difference(i)
		f.Add(msg.Data, uint8(i), msg.CRC, msg.BaseStep, msg.BasePass, uint8(msg.Coding))
	}
	f.Add(make([]byte, 66), uint8(1), uint32(0), uint64(math.MaxUint64), -1, uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, index uint8, crc uint32, step uint64, pass int, coding uint8) {
		m := newMoving(t)
		a := m.assembly()
		for i := range m.chunks.Count() {
			a.take(m.whole(i), m.chunks)
		}
		i := int(index) % m.chunks.Count()
		before := slices.Clone(a.values)
		msg := &wire.Theta{Step: 1, Index: i, Count: m.chunks.Count(), Coding: wire.Coding(coding % 3), BaseStep: step, BasePass: pass, CRC: crc, Data: data}
		if a.take(msg, m.chunks) {
			from, to := m.chunks.Span(i)
			if wire.Checksum(wire.FloatBytes(a.values[from:to])) != crc {
				t.Errorf("values without the checksum were taken")
			}
			copy(before[from:to], a.values[from:to])
		}
		for i := range before {
			if math.Float32bits(before[i]) != math.Float32bits(a.values[i]) {
				t.Fatalf("value %d has changed", i)
			}
		}
	})
}

// A worker that gets differences to parameters that it does not have asks for these soon, and computes with nothing
// else.
func TestRun_AsksForWhatDifferencesLack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, m, p := wire.NewMemory(nil), newMoving(t), &mover{size: movingSize}
		m.chunks = wire.NewChunking(movingSize, 256)
		m.shown = m.shown[:movingSize]
		begin, asked, needs := time.Now(), time.Duration(0), 0
		lead(t, bus, func(msg wire.Message) []wire.Message {
			var list []wire.Message
			switch msg := msg.(type) {
			case *wire.Hello:
				return []wire.Message{&wire.Welcome{
					Size: movingSize, Chunk: 256, Heartbeat: time.Second, Job: []byte("job"), Parameters: wire.Int8, Tensors: []int{100, movingSize - 100},
				}}
			case *wire.Ready: // the step before is lost but for one chunk
				if m.after.step > 0 {
					return nil
				}
				list = append(list, m.whole(1))
				m.follow()
				for i := range m.chunks.Count() {
					list = append(list, m.difference(i))
				}
				begin = time.Now()
			case *wire.Need:
				asked = time.Since(begin)
				needs++
				for _, r := range msg.Ranges {
					for i := r.First; i < r.First+r.Count; i++ {
						if i == 1 {
							t.Error("chunk 1, whose base is there, is asked for")
						}
						list = append(list, m.whole(i))
					}
				}
			}
			return list
		})
		w := newWorker(t, bus, func([]byte, []byte, int) (Program, error) { return p, nil })
		done := make(chan error, 1)
		ctx := t.Context()
		go func() { done <- w.Run(ctx) }()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(p.loads) != 1 || !slices.Equal(p.loads[0], m.shown) {
			t.Errorf("%d vectors were loaded, or others", len(p.loads))
		}
		if needs != 1 || asked > 200*time.Millisecond {
			t.Errorf("asked %d times, first after %v", needs, asked)
		}
	})
}

// follow is step for a vector without anything behind the parameters.
func (m *moving) follow() {
	for i := range m.exact {
		m.exact[i] += float32(i%13) - 6
	}
	m.last.Follow(m.shown, m.exact, 0, m.grid.Blocks())
	m.before, m.after = m.after, held{true, m.after.step + 1, 0}
}

// mover is a program that keeps what it loads.
type mover struct {
	still
	size  int
	loads [][]float32
}

func (p *mover) Size() int { return p.size }

func (p *mover) Load(_ uint64, theta []float32) error {
	p.loads = append(p.loads, slices.Clone(theta))
	return nil
}
