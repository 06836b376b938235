package autodiff

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Image is how a row of a tensor holds an image: line by line, the channels of a pixel side by side.
type Image struct{ Height, Width, Channels int }

// Size is the number of values of an image.
func (g Image) Size() int { return g.Height * g.Width * g.Channels }

// Convolution is the geometry of a convolutional layer with a square kernel. The image is padded with zeros so that the
// output has ⌈Height/Stride⌉ × ⌈Width/Stride⌉ pixels; an odd padding has one zero more below and to the right.
type Convolution struct {
	In             Image
	Kernel, Stride int
}

// Out is what the layer makes of an image.
func (c Convolution) Out(channels int) Image {
	return Image{(c.In.Height + c.Stride - 1) / c.Stride, (c.In.Width + c.Stride - 1) / c.Stride, channels}
}

// Inputs is the number of values that an output value depends on.
func (c Convolution) Inputs() int { return c.Kernel * c.Kernel * c.In.Channels }

// Convolve returns the images
//
//	y[i,j,o] = act(b[o] + Σ_{p,q,c} x[s·i+p−top, s·j+q−left, c]·W[(p·Kernel+q)·Channels+c, o])
//
// of the images in the rows of x, with W [Inputs, outputs] and the bias b [outputs], which may be nil. It is a matrix
// product of patches, each a row of Inputs values, made of a few images at a time and again for the VJP, so that they
// stay in the cache.
func (t *Tape) Convolve(x Tensor, w, b *Weight, c Convolution, act Activation) Tensor {
	if x.Cols != c.In.Size() || w.Rows != c.Inputs() {
		panic(fmt.Sprintf("autodiff: Convolve: rows of %d values and %s %d×%d for %+v", x.Cols, w.Name, w.Rows, w.Cols, c))
	}
	r := convolveRecord{x: x, y: t.Activation(x.Rows, c.Out(w.Cols).Size()), w: w, b: b, Convolution: c, act: act}
	e := kernel.Epilogue{ReLU: act == ReLU}
	if b != nil {
		e.Bias = b.Values()
	}
	mark := t.values.mark()
	r.groups(t, func(g convolveGroup) {
		g.patch(x.Slice(g.first, g.last))
		t.multiply(r.pixels(r.y.Value, g), g.patches, &w.forward, e)
	})
	t.values.release(mark)
	record(t, &t.lists.convolve, r)
	return r.y
}

type convolveRecord struct {
	Convolution
	x, y Tensor
	w, b *Weight
	act  Activation
}

// ȳ ← ȳ ⊙ act′(y) in place; W̄ += Pᵀ·ȳ for the patches P; b̄ += Σ ȳ over pixels; x̄ += each row of ȳ·Wᵀ where its patch was
func (r *convolveRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	r.y.settle()
	write := r.x.Grad != nil && r.x.claim()
	r.groups(t, func(g convolveGroup) {
		x, y := r.x.Slice(g.first, g.last), r.y.Slice(g.first, g.last)
		if r.act == ReLU {
			kernel.ReLUBackward(y.Grad, y.Grad, y.Value)
		}
		dy := r.pixels(r.y.Grad, g)
		if r.b != nil {
			accumulateBias(t, r.b, dy)
		}
		if !t.frozen[r.w.index] {
			g.patch(x)
			accumulatePart(t, r.w, 0, g.patches, dy)
			t.formed[r.w.index] = true
		}
		if x.Grad == nil {
			return
		}
		if r.pointwise() {
			t.multiply(kernel.Dense(x.Grad, dy.Rows, r.In.Channels), dy, &r.w.backward, kernel.Epilogue{Accumulate: !write})
			return
		}
		if write {
			clear(x.Grad)
		}
		t.multiply(g.patches, dy, &r.w.backward, kernel.Epilogue{})
		g.addPatches(x)
	})
}

// pixels are the rows of an output, one for each pixel, of a group.
func (r *convolveRecord) pixels(values []float32, g convolveGroup) kernel.Matrix {
	size := r.y.Cols
	return kernel.Dense(values[g.first*size:g.last*size], (g.last-g.first)*size/r.w.Cols, r.w.Cols)
}

// pointwise reports whether an image is its own matrix of patches.
func (c Convolution) pointwise() bool { return c.Kernel == 1 && c.Stride == 1 }

// patchValues is about how many values of patches are made at a time.
const patchValues = 1 << 16

// convolveGroup is a range of images, and the memory for their patches.
type convolveGroup struct {
	Convolution
	first, last int
	patches     kernel.Matrix
}

// groups calls do for consecutive groups of images.
func (r *convolveRecord) groups(t *Tape, do func(g convolveGroup)) {
	out := r.Out(1)
	pixels, inputs := out.Height*out.Width, r.Inputs()
	size := min(r.x.Rows, max(1, patchValues/(pixels*inputs)))
	var memory []float32
	if !r.pointwise() {
		memory = t.values.alloc(size * pixels * inputs)
	}
	for first := 0; first < r.x.Rows; first += size {
		g := convolveGroup{Convolution: r.Convolution, first: first, last: min(first+size, r.x.Rows)}
		rows := (g.last - g.first) * pixels
		values := memory
		if r.pointwise() {
			values = r.x.Slice(g.first, g.last).Value
		}
		g.patches = kernel.Dense(values[:rows*inputs], rows, inputs)
		do(g)
	}
}

// patch fills the patches from the images x.
func (g *convolveGroup) patch(x Tensor) {
	if g.pointwise() {
		return
	}
	to := g.patches.Data
	for i := range x.Rows {
		g.lines(x.row(i), func(line []float32, before, after int) {
			clear(to[:before])
			copy(to[before:], line)
			to = to[before+len(line):]
			clear(to[:after])
			to = to[after:]
		})
	}
}

// addPatches adds the patches to the gradients of the images x that they came from.
func (g *convolveGroup) addPatches(x Tensor) {
	from := g.patches.Data
	for i := range x.Rows {
		g.lines(x.gradRow(i), func(line []float32, before, after int) {
			if part := from[before:][:len(line)]; len(part) >= 16 {
				kernel.Add(line, part)
			} else {
				for j, v := range part {
					line[j] += v
				}
			}
			from = from[before+len(line)+after:]
		})
	}
}

// lines calls do for every line of every patch of an image, in the order in which patches hold them: with the part of
// the line that lies within the image, and how many values of padding stand before and after it.
func (g *convolveGroup) lines(image []float32, do func(line []float32, before, after int)) {
	out, in, n := g.Out(1), g.In, g.In.Channels
	top, left := padding(in.Height, out.Height, g.Kernel, g.Stride), padding(in.Width, out.Width, g.Kernel, g.Stride)
	wide := g.Kernel * n
	for i := range out.Height {
		for j := range out.Width {
			column := j*g.Stride - left
			from, to := max(column, 0), min(column+g.Kernel, in.Width)
			for p := range g.Kernel {
				row := i*g.Stride + p - top
				if row < 0 || row >= in.Height || to <= from {
					do(nil, wide, 0)
					continue
				}
				do(image[(row*in.Width+from)*n:(row*in.Width+to)*n], (from-column)*n, (column+g.Kernel-to)*n)
			}
		}
	}
}

// padding is how many zeros stand before a line of the given length.
func padding(in, out, size, stride int) int { return max((out-1)*stride+size-in, 0) / 2 }

// Subpixel returns larger images, whose pixels are channels of those in the rows of x: with the factor f and in.Channels
// = f²·n,
//
//	y[f·i+p, f·j+q, c] = x[i, j, (p·f+q)·n+c]
//
// Behind a convolution it is what a transposed convolution does, without its overlaps. (Shi et al. 2016.)
func (t *Tape) Subpixel(x Tensor, in Image, factor int) Tensor {
	if x.Cols != in.Size() || factor < 1 || in.Channels%(factor*factor) != 0 {
		panic(fmt.Sprintf("autodiff: Subpixel: rows of %d values, %+v by a factor of %d", x.Cols, in, factor))
	}
	r := subpixelRecord{x: x, y: t.Activation(x.Rows, x.Cols), in: in, factor: factor}
	for i := range x.Rows {
		small, large := x.row(i), r.y.row(i)
		r.runs(func(s, l, n int) { copy(large[l:l+n], small[s:s+n]) })
	}
	record(t, &t.lists.subpixel, r)
	return r.y
}

type subpixelRecord struct {
	x, y   Tensor
	in     Image
	factor int
}

// x̄ += ȳ, each pixel where it came from
func (r *subpixelRecord) backward(*Tape) {
	r.y.settle()
	if r.x.Grad == nil {
		return
	}
	write := r.x.claim()
	for i := range r.x.Rows {
		small, large := r.x.gradRow(i), r.y.gradRow(i)
		if write {
			r.runs(func(s, l, n int) { copy(small[s:s+n], large[l:l+n]) })
			continue
		}
		r.runs(func(s, l, n int) {
			for k, g := range large[l : l+n] {
				small[s+k] += g
			}
		})
	}
}

// runs calls do with the places, in an image of x and in one of y, of values that stand side by side in both.
func (r *subpixelRecord) runs(do func(small, large, n int)) {
	f, in := r.factor, r.in
	run := in.Channels / f // the pixels (p, 0) … (p, f−1)
	for i := range in.Height {
		for p := range f {
			line := (i*f + p) * in.Width * run
			for j := range in.Width {
				do((i*in.Width+j)*in.Channels+p*run, line+j*run, run)
			}
		}
	}
}
