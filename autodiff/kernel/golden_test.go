package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"testing"
)

// goldenHash is the hash of what all kernels make of fixed inputs. It is the same
// for every instruction set, build tag and architecture; it changes only when the
// arithmetic does, and then every trained run changes with it.
const goldenHash = "c54f6e93ac3f01b2477bd4d7e17775567812e924ba7499f9b0a5e0e5884fee30"

func TestGolden(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		if got := golden(); got != goldenHash {
			t.Errorf("%s, want %s", got, goldenHash)
		}
	})
}

// digest hashes the bits of values; every NaN counts as one and the same.
type digest struct{ hash.Hash }

func (d digest) add(x []float32) {
	var b [4]byte
	for _, v := range x {
		bits := math.Float32bits(v)
		if v != v {
			bits = 0x7fc00000
		}
		binary.LittleEndian.PutUint32(b[:], bits)
		d.Write(b[:])
	}
}

func golden() string {
	d := digest{sha256.New()}
	goldenVectors(d)
	goldenRows(d)
	goldenProducts(d)
	goldenDraws(d)
	return hex.EncodeToString(d.Sum(nil))
}

// goldenInput returns values of all kinds, from words alone.
func goldenInput(stream uint64, n int) []float32 {
	x := make([]float32, n)
	p := NewPhilox(0x5eed, stream)
	for i := range x {
		w := p.Block(uint64(i))
		switch w[1] % 8 {
		case 0:
			x[i] = fromBits(w[0])
		case 1:
			x[i] = special[w[0]%uint32(len(special))]
		default:
			x[i] = float32(int32(w[0])) * (8.0 / (1 << 31))
		}
	}
	return x
}

// goldenUsual returns values in (-1, 1).
func goldenUsual(stream uint64, n int) []float32 {
	x := make([]float32, n)
	p := NewPhilox(0x5eed, stream)
	for i := range x {
		x[i] = float32(int32(p.Block(uint64(i))[0])) / (1 << 31)
	}
	return x
}

func goldenVectors(d digest) {
	const n = 3001
	x, y := goldenInput(1, n), goldenInput(2, n)
	for _, op := range hashedOps {
		out := goldenInput(3, n)
		op.fast(out, x, y)
		d.add(out)
	}
	const h = 77
	z, c, next, out, tanhC := goldenInput(4, 4*h), goldenInput(5, h), x[:h], y[:h], x[h:2*h]
	LSTMForward(z, c, next, out, tanhC, h)
	for _, v := range [][]float32{z, next, out, tanhC} {
		d.add(v)
	}
	dh, dc := goldenInput(6, h), goldenInput(7, h)
	LSTMBackward(z, z, dh, dc, tanhC, c, h)
	d.add(z)
	d.add(dc)
	p, m, v, g := goldenUsual(8, n), goldenUsual(9, n), goldenUsual(10, n), goldenInput(11, n)
	Mul(v, v, v)
	Adam(p, m, v, g, AdamStep{0.9, 0.1, 0.999, 0.001, 1e-3, 1e-8})
	d.add(p)
	d.add(m)
	d.add(v)
}

func goldenRows(d digest) {
	for _, cols := range []int{1, 4, 5, 8, 16, 18, 100} {
		const rows = 21
		m := Dense(goldenInput(12, rows*cols), rows, cols)
		u := Dense(goldenUsual(13, rows*cols), rows, cols)
		byRow, byColumn := make([]float32, rows), make([]float32, cols)
		SumRows(byRow, u)
		AddSumColumns(byColumn, u)
		d.add(byRow)
		d.add(byColumn)
		out := Dense(make([]float32, rows*cols), rows, cols)
		for _, in := range []Matrix{m, u} {
			Softmax(out, in)
			d.add(out.Data)
			LogSoftmax(out, in)
			d.add(out.Data)
		}
		squares := SumSquares(u.Data)
		d.add([]float32{Sum(u.Data), float32(squares), float32(squares - float64(float32(squares)))})
	}
}

func goldenProducts(d digest) {
	const m, n, k = 17, 45, 700
	a, b := Dense(goldenUsual(14, m*k), m, k), Dense(goldenUsual(15, k*n), k, n)
	bias := goldenUsual(16, n)
	var w Workspace
	var p Packed
	p.Pack(b)
	c := Dense(goldenUsual(17, m*n), m, n)
	w.MulPacked(c, a, &p, Epilogue{Accumulate: true})
	d.add(c.Data)
	w.Mul(c, a, b, Epilogue{Bias: bias, ReLU: true})
	d.add(c.Data)
	p.PackTransposed(transposed(b))
	w.MulPacked(c, a, &p, Epilogue{Bias: bias})
	d.add(c.Data)
	w.MulTransA(c, transposed(a), b, Epilogue{})
	d.add(c.Data)
}

func goldenDraws(d digest) {
	p := NewPhilox(11, 12)
	x := make([]float32, 1000)
	for _, f := range draws {
		f.fill(&p, x, 8)
		d.add(x)
	}
}
