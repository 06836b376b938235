package autodiff

import (
	"fmt"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

const (
	smallestNormal = 0x1p-126
	pixelWeight    = 0.3 / 320 // of a pixel in the mean over 320 images, with the weight of KVAE's reconstruction
)

func subnormal(x float32) bool { return x != 0 && math.Abs(float64(x)) < smallestNormal }

// TestBernoulliNLL_NegligibleIsZero: a difference between σ(l) and x is what it is from 2⁻⁶⁴ on, and 0 below, on every
// instruction set, whether the VJP writes the gradient or adds to it.
func TestBernoulliNLL_NegligibleIsZero(t *testing.T) {
	const n = 4000
	x, logits := make([]float32, n), make([]float32, n)
	for i := range n {
		x[i], logits[i] = float32(i%2), float32(i-n/2)/10 // −200 … 200
	}
	eachISA(t, func(t *testing.T) {
		for _, written := range []bool{true, false} {
			tape := NewTape(NewParams())
			l := tape.New(1, n)
			if written {
				l = tape.Activation(1, n)
			}
			copy(l.Value, logits)
			nll := tape.BernoulliNLL(tape.Constant(x, 1, n), l, Tensor{})
			tape.Backward(tape.Scale(nll, pixelWeight))
			for i, got := range l.Grad {
				want := 1/(1+math.Exp(-float64(logits[i]))) - float64(x[i])
				switch zero := math.Abs(want) < 0x1p-64; {
				case zero && got != 0, subnormal(got):
					t.Errorf("l = %v, x = %v: %v, want 0", logits[i], x[i], got)
				case !zero && math.Abs(float64(got)/pixelWeight-want) > 1e-7 && math.Abs(float64(got)/(pixelWeight*want)-1) > 1e-6:
					t.Errorf("l = %v, x = %v: %v, want %v", logits[i], x[i], got, pixelWeight*want)
				}
			}
			if at := n/2 - 442; l.Grad[at] == 0 || l.Grad[at-2] != 0 { // x = 0; log 2⁻⁶⁴ = −44.36
				t.Errorf("%v at l = %v, %v at %v: the threshold is not 2⁻⁶⁴", l.Grad[at], logits[at], l.Grad[at-2], logits[at-2])
			}
		}
	})
}

// decoder is the end of one of images, and its negative log-likelihood of white squares on black: a convolution, and a
// map of each pixel with a bias that makes the prediction grey or black.
func decoder(t *Tape, p *Params, rows int, draws *rng.Stream, bias float32) func() (loss Tensor) {
	c, small := Convolution{Image{16, 16, 32}, 3, 1}, Image{16, 16, 4}
	up, pixel, b := p.Matrix("up", c.Inputs(), 128), p.Matrix("pixel", 32, 1), p.Vector("bias", 1)
	up.InitFanIn(draws, c.Inputs())
	pixel.InitNormal(draws, 10)
	b.Fill(bias)
	p.Pack()
	*t = *NewTape(p)
	x, white := coefficients(rows*c.In.Size()), make([]float32, rows*32*32)
	for i := range white {
		if row, column := i/32%32, i%32; row/6 == 2 && column/6 == 3 {
			white[i] = 1
		}
	}
	return func() Tensor {
		t.Reset()
		in := t.Activation(rows, c.In.Size())
		copy(in.Value, x)
		y := t.Convolve(in, up, nil, c, ReLU)
		y = t.Convolve(y, pixel, b, Convolution{Image{32, 32, 32}, 1, 1}, Identity)
		return t.Scale(t.BernoulliNLL(t.Constant(white, rows, 32*32), t.Subpixel(y, small, 2), Tensor{}), pixelWeight)
	}
}

// TestBackward_BlackImagesHaveNoSubnormal: nothing that the backward pass of a decoder multiplies is subnormal where it
// predicts black with confidence: processors take a slow path for each such number.
func TestBackward_BlackImagesHaveNoSubnormal(t *testing.T) {
	var tape Tape
	draws := rng.New(3, rng.Init).At(0, 0, 0)
	loss := decoder(&tape, NewParams(), 2, &draws, -80)()
	tape.Backward(loss)
	zeros := 0
	check := func(what string, values []float32) {
		count := 0
		for _, v := range values {
			if subnormal(v) {
				count++
			}
			if v == 0 {
				zeros++
			}
		}
		if count > 0 {
			t.Errorf("%s: %d of %d numbers are subnormal", what, count, len(values))
		}
	}
	check("gradients of parameters", tape.Gradient)
	for _, r := range tape.lists.bernoulliNLL.records {
		check("gradients of logits", r.logits.Grad)
	}
	if zeros == 0 {
		t.Error("no prediction is so black that its gradient is negligible")
	}
	for i, r := range tape.lists.convolve.records {
		check(fmt.Sprintf("gradients of the output of convolution %d", i+1), r.y.Grad)
		check(fmt.Sprintf("gradients of the input of convolution %d", i+1), r.x.Grad)
	}
}

// BenchmarkBackward_Images compares gradients of a decoder that predicts grey with those of one that predicts black.
func BenchmarkBackward_Images(b *testing.B) {
	for name, bias := range map[string]float32{"grey": 0, "black": -80} {
		b.Run(name, func(b *testing.B) {
			var tape Tape
			draws := rng.New(3, rng.Init).At(0, 0, 0)
			loss := decoder(&tape, NewParams(), 16, &draws, bias)
			for b.Loop() {
				tape.Backward(loss())
			}
			b.ReportMetric(tape.Flops()*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
