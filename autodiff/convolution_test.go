package autodiff

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

var convolutionTests = []opTest{
	{name: "Convolve", inputs: [][2]int{{2, 4 * 5 * 2}}, weights: [][2]int{{18, 3}, {1, 3}}, f: convolveTest(Convolution{Image{4, 5, 2}, 3, 1}, Identity)},
	{name: "Convolve/relu", inputs: [][2]int{{2, 3 * 3 * 2}}, weights: [][2]int{{18, 2}, {1, 2}}, f: convolveTest(Convolution{Image{3, 3, 2}, 3, 1}, ReLU)},
	{name: "Convolve/stride", inputs: [][2]int{{2, 4 * 6}}, weights: [][2]int{{9, 4}, {1, 4}}, f: convolveTest(Convolution{Image{4, 6, 1}, 3, 2}, Identity)},
	{name: "Convolve/pointwise", inputs: [][2]int{{3, 2 * 2 * 5}}, weights: [][2]int{{5, 3}, {1, 3}}, f: convolveTest(Convolution{Image{2, 2, 5}, 1, 1}, ReLU)},
	{name: "Convolve/wide", inputs: [][2]int{{2, 3 * 3 * 16}}, weights: [][2]int{{144, 2}, {1, 2}}, f: convolveTest(Convolution{Image{3, 3, 16}, 3, 1}, Identity)},
	{ // the inputs have gradients when that of the layer comes, and one is a constant
		name: "Convolve/shared", inputs: [][2]int{{2, 3 * 3 * 2}}, weights: [][2]int{{18, 2}, {2, 2}}, f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
			c := Convolution{Image{3, 3, 2}, 3, 1}
			y := t.Convolve(t.Convolve(in[0], w[0], nil, c, ReLU), w[0], nil, c, Identity)
			z := t.Convolve(in[0], w[1], nil, Convolution{c.In, 1, 1}, Identity)
			u := t.Convolve(t.Constant(coefficients(36), 2, 18), w[0], nil, c, Identity)
			return dot(t, t.Add(t.Add(y, z), t.Add(u, in[0])))
		},
	},
	{name: "Subpixel", inputs: [][2]int{{2, 2 * 3 * 8}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return dot(t, t.Subpixel(in[0], Image{2, 3, 8}, 2))
	}},
	{name: "Subpixel/shared", inputs: [][2]int{{1, 1 * 2 * 9}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return dot(t, t.Mul(t.Subpixel(in[0], Image{1, 2, 9}, 3), in[0]))
	}},
}

func convolveTest(c Convolution, act Activation) func(t *Tape, in []Tensor, w []*Weight) Tensor {
	return func(t *Tape, in []Tensor, w []*Weight) Tensor { return dot(t, t.Convolve(in[0], w[0], w[1], c, act)) }
}

// direct is a convolution as it is defined, with an explicit border of zeros.
func direct(x, w, b []float32, c Convolution, outputs int) []float64 {
	out := c.Out(outputs)
	border := func(in, out int) int { return max((out-1)*c.Stride+c.Kernel-in, 0) / 2 }
	top, left := border(c.In.Height, out.Height), border(c.In.Width, out.Width)
	at := func(i, j, n int) float64 {
		if i < 0 || j < 0 || i >= c.In.Height || j >= c.In.Width {
			return 0
		}
		return float64(x[(i*c.In.Width+j)*c.In.Channels+n])
	}
	var y []float64
	for i := range out.Height {
		for j := range out.Width {
			for o := range outputs {
				sum := float64(b[o])
				for p := range c.Kernel {
					for q := range c.Kernel {
						for n := range c.In.Channels {
							sum += at(c.Stride*i+p-top, c.Stride*j+q-left, n) * float64(w[((p*c.Kernel+q)*c.In.Channels+n)*outputs+o])
						}
					}
				}
				y = append(y, sum)
			}
		}
	}
	return y
}

func TestConvolve_AgainstDirectEvaluation(t *testing.T) {
	for _, c := range []Convolution{
		{Image{32, 32, 1}, 3, 2},
		{Image{16, 16, 32}, 3, 1},
		{Image{5, 7, 3}, 3, 2},
		{Image{7, 4, 2}, 5, 3},
		{Image{6, 6, 4}, 1, 1},
		{Image{6, 5, 4}, 1, 2},
		{Image{2, 1, 3}, 5, 1},
		{Image{9, 8, 2}, 2, 2},
		{Image{4, 4, 2}, 4, 1},
	} {
		const rows, outputs = 3, 5
		p := NewParams()
		w, b := p.Matrix("w", c.Inputs(), outputs), p.Vector("b", outputs)
		draws := rng.New(3, rng.Init).At(0, 0, 0)
		w.InitNormal(&draws, 1)
		b.InitNormal(&draws, 1)
		p.Pack()
		x := coefficients(rows * c.In.Size())
		tape := NewInferenceTape(p)
		y := tape.Convolve(tape.Constant(x, rows, c.In.Size()), w, b, c, Identity)
		for i := range rows {
			want := direct(x[i*c.In.Size():][:c.In.Size()], w.Values(), b.Values(), c, outputs)
			if len(want) != y.Cols {
				t.Fatalf("%+v: %d values, want %d", c, y.Cols, len(want))
			}
			for j, v := range want {
				if got := float64(y.row(i)[j]); math.Abs(got-v) > 1e-4 {
					t.Errorf("%+v: image %d, value %d: %v, want %v", c, i, j, got, v)
					break
				}
			}
		}
	}
}

// TestConvolve_BitsDoNotDependOnGroups: rows, one by one, have the bits of all of them at once, in value and gradient.
func TestConvolve_BitsDoNotDependOnGroups(t *testing.T) {
	for _, c := range []Convolution{{Image{8, 8, 12}, 3, 1}, {Image{40, 40, 12}, 1, 1}} { // one and three images at a time
		groups(t, c)
	}
}

func groups(t *testing.T, c Convolution) {
	t.Helper()
	const rows, outputs = 8, 4
	p := NewParams()
	w := p.Matrix("w", c.Inputs(), outputs)
	draws := rng.New(3, rng.Init).At(0, 0, 0)
	w.InitNormal(&draws, 1)
	p.Pack()
	x := coefficients(rows * c.In.Size())
	run := func(apart bool) (value, dx, dw []float32) {
		tape := NewTape(p)
		in, y := tape.New(rows, c.In.Size()), tape.New(rows, c.Out(outputs).Size())
		copy(in.Value, x)
		if apart {
			for i := rows - 1; i >= 0; i-- { // backward goes over them in the order of the rows
				tape.Concat(y.Block(i, 1), tape.Convolve(in.Block(i, 1), w, nil, c, ReLU))
			}
		} else {
			tape.Concat(y, tape.Convolve(in, w, nil, c, ReLU))
		}
		tape.Backward(dot(tape, y))
		return y.Value, in.Grad, tape.Gradient
	}
	y, dx, dw := run(false)
	ys, dxs, dws := run(true)
	if !slices.Equal(y, ys) || !slices.Equal(dx, dxs) || !slices.Equal(dw, dws) {
		t.Errorf("%+v: equal: values %v, gradients of images %v, of weights %v", c, slices.Equal(y, ys), slices.Equal(dx, dxs), slices.Equal(dw, dws))
	}
}

// TestSubpixel_PlacesPixels of two images of 1×2 pixels with four channels.
func TestSubpixel_PlacesPixels(t *testing.T) {
	tape := NewInferenceTape(NewParams())
	x := tape.Constant([]float32{1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18}, 2, 8)
	got := tape.Subpixel(x, Image{1, 2, 4}, 2).Value
	if want := []float32{1, 2, 5, 6, 3, 4, 7, 8, 11, 12, 15, 16, 13, 14, 17, 18}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	x = tape.Constant([]float32{1, -1, 2, -2, 3, -3, 4, -4}, 1, 8)
	got = tape.Subpixel(x, Image{1, 1, 8}, 2).Value
	if !slices.Equal(got, x.Value) {
		t.Errorf("channels of pixels: %v, want %v", got, x.Value)
	}
}

// BenchmarkConvolve is the layer that takes most of the time of a decoder of images: 16×16 pixels, 32 to 128 channels.
func BenchmarkConvolve(b *testing.B) {
	c := Convolution{Image{16, 16, 32}, 3, 1}
	const rows, outputs = 64, 128
	p := NewParams()
	w, bias := p.Matrix("w", c.Inputs(), outputs), p.Vector("b", outputs)
	draws := rng.New(3, rng.Init).At(0, 0, 0)
	w.InitNormal(&draws, 1)
	p.Pack()
	x := coefficients(rows * c.In.Size())
	tape := NewTape(p)
	for _, backward := range []bool{false, true} {
		b.Run(fmt.Sprintf("backward=%v", backward), func(b *testing.B) {
			for b.Loop() {
				tape.Reset()
				in := tape.Activation(rows, c.In.Size())
				copy(in.Value, x)
				y := tape.Convolve(in, w, bias, c, ReLU)
				if backward {
					tape.Backward(tape.Sum(y))
				}
			}
			b.ReportMetric(tape.Flops()*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
