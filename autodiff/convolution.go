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

// Out is the shape of what the layer makes of an image, with the given number of channels.
func (c Convolution) Out(channels int) Image {
	return Image{(c.In.Height + c.Stride - 1) / c.Stride, (c.In.Width + c.Stride - 1) / c.Stride, channels}
}

// Inputs is the number of values that an output value depends on: Kernel²·Channels, the rows of the weight.
func (c Convolution) Inputs() int { return c.Kernel * c.Kernel * c.In.Channels }

// Convolve returns the images
//
//	y[i,j,o] = act(b[o] + Σ_{p,q,c} x[s·i+p−top, s·j+q−left, c]·W[(p·Kernel+q)·Channels+c, o])
//
// of the images in the rows of x, with W [Inputs, outputs] and the bias b [outputs], which may be nil. For each line p
// of the kernel it is a matrix product, with parts of lines of the image as rows. These are laid out one image at a
// time, and again for the VJP, so that they stay in the cache.
func (t *Tape) Convolve(x Tensor, w, b *Weight, c Convolution, act Activation) Tensor {
	if x.Cols != c.In.Size() || w.Rows != c.Inputs() {
		panic(fmt.Sprintf("autodiff: Convolve: rows of %d values and %s %d×%d for %+v", x.Cols, w.Name, w.Rows, w.Cols, c))
	}
	r := convolveRecord{x: x, y: t.Activation(x.Rows, c.Out(w.Cols).Size()), w: w, b: b, Convolution: c, act: act}
	// Each line p of the kernel adds its product into y; the first starts from the bias, the last applies the
	// activation.
	mark := t.values.mark()
	strips := c.newStrips(t)
	for first, n := 0, r.group(); first < x.Rows; first += n {
		x, y := x.Slice(first, min(first+n, x.Rows)), r.pixels(r.y.Value, first, n)
		if c.pointwise() {
			t.multiply(y, kernel.Dense(x.Value, y.Rows, w.Rows), &w.forward, r.epilogue(true, true))
			continue
		}
		strips.cut(x.Value)
		for p := range c.Kernel {
			line := w.forward.Rows(p*strips.width, (p+1)*strips.width)
			t.multiply(y, strips.under(p), &line, r.epilogue(p == 0, p == c.Kernel-1))
		}
	}
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

// epilogue is what a product of a line of the kernel does with its result; first and last say which line it is.
func (r *convolveRecord) epilogue(first, last bool) kernel.Epilogue {
	e := kernel.Epilogue{Accumulate: !first, ReLU: last && r.act == ReLU}
	if first && r.b != nil {
		e.Bias = r.b.Values()
	}
	return e
}

// ȳ ← ȳ ⊙ act′(y) in place; W̄ += Pᵀ·ȳ for the strips P; b̄ += Σ ȳ over pixels; x̄ += each row of ȳ·Wᵀ, a patch, where
// it belongs
func (r *convolveRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	r.y.settle()
	// If no other VJP has written x̄, its images are cleared or written one by one, while they are in the cache.
	write := r.x.Grad != nil && r.x.claim()
	strips, patches := r.newStrips(t), r.newPatches(t)
	for first, n := 0, r.group(); first < r.x.Rows; first += n {
		x, y := r.x.Slice(first, min(first+n, r.x.Rows)), r.y.Slice(first, min(first+n, r.x.Rows))
		if r.act == ReLU {
			kernel.ReLUBackward(y.Grad, y.Grad, y.Value)
		}
		dy := r.pixels(r.y.Grad, first, n)
		if r.b != nil {
			accumulateBias(t, r.b, dy)
		}
		r.accumulate(t, x, dy, &strips)
		if x.Grad == nil {
			continue
		}
		if r.pointwise() {
			t.multiply(kernel.Dense(x.Grad, dy.Rows, r.w.Rows), dy, &r.w.backward, kernel.Epilogue{Accumulate: !write})
			continue
		}
		if write {
			clear(x.Grad)
		}
		t.multiply(patches, dy, &r.w.backward, kernel.Epilogue{})
		r.addPatches(x.Grad, patches.Data)
	}
}

// accumulate adds the gradient of some images to that of the weight: W̄ += Pᵀ·ȳ with the strips P of these images,
// line of the kernel by line.
func (r *convolveRecord) accumulate(t *Tape, x Tensor, dy kernel.Matrix, s *strips) {
	if t.frozen[r.w.index] {
		return
	}
	if r.pointwise() {
		accumulatePart(t, r.w, 0, kernel.Dense(x.Value, dy.Rows, r.w.Rows), dy)
	} else {
		s.cut(x.Value)
		for p := range r.Kernel {
			accumulatePart(t, r.w, p*s.width, s.under(p), dy)
		}
	}
	t.formed[r.w.index] = true
}

// pixels are the rows of an output, one for each pixel, of n images.
func (r *convolveRecord) pixels(values []float32, first, n int) kernel.Matrix {
	size := r.y.Cols
	n = min(n, r.y.Rows-first)
	return kernel.Dense(values[first*size:(first+n)*size], n*size/r.w.Cols, r.w.Cols)
}

// pointwise reports whether an output pixel depends on one input pixel, so that images need not be laid out anew.
func (c Convolution) pointwise() bool { return c.Kernel == 1 && c.Stride == 1 }

// group is how many images are taken at a time: one, or with a pointwise convolution as many as make about 2¹⁶
// values.
func (r *convolveRecord) group() int {
	const values = 1 << 16
	if r.pointwise() {
		return max(1, values/r.x.Cols)
	}
	return 1
}

// strips are parts of the lines of an image: for each line, and each pixel of an output line, what a line of the kernel
// lies over, Kernel·Channels values side by side. Above and below the image stand lines of zeros. The lines are in the
// order of their remainder by the stride, so that what one line of the kernel meets is one matrix.
type strips struct {
	Convolution
	out   Image
	lines int // with padding
	width int
	data  []float32
}

// newStrips allocates strips for one image on the tape; a pointwise convolution needs none.
func (c Convolution) newStrips(t *Tape) strips {
	s := strips{Convolution: c, out: c.Out(1), width: c.Kernel * c.In.Channels}
	s.lines = (s.out.Height-1)*c.Stride + c.Kernel
	if !c.pointwise() {
		s.data = t.values.alloc(c.Stride * s.share() * s.out.Width * s.width)
	}
	return s
}

// share is how many lines at most have the same remainder.
func (s *strips) share() int { return (s.lines + s.Stride - 1) / s.Stride }

// from is where the strips of a line begin.
func (s *strips) from(line int) int {
	return (line%s.Stride*s.share() + line/s.Stride) * s.out.Width * s.width
}

// under are the strips below line p of the kernel, a row of Kernel·Channels values for each output pixel: lines p,
// p + Stride, p + 2·Stride, … of the padded image, which the order by remainders puts one after another.
func (s *strips) under(p int) kernel.Matrix {
	rows := s.out.Height * s.out.Width
	return kernel.Dense(s.data[s.from(p):][:rows*s.width], rows, s.width)
}

// cut fills the strips from an image.
func (s *strips) cut(image []float32) {
	in, n := s.In, s.In.Channels
	top, left := padding(in.Height, s.out.Height, s.Kernel, s.Stride), padding(in.Width, s.out.Width, s.Kernel, s.Stride)
	for line := range s.lines {
		to := s.data[s.from(line):][:s.out.Width*s.width]
		row := line - top
		if row < 0 || row >= in.Height {
			clear(to)
			continue
		}
		pixels := image[row*in.Width*n:][:in.Width*n]
		for j := range s.out.Width {
			// A strip that lies within the line is one copy; one at its ends has zeros where the padding is.
			column := j*s.Stride - left
			strip := to[j*s.width:][:s.width]
			if column >= 0 && column+s.Kernel <= in.Width {
				copy(strip, pixels[column*n:])
				continue
			}
			clear(strip)
			if from, end := max(column, 0), min(column+s.Kernel, in.Width); from < end {
				copy(strip[(from-column)*n:], pixels[from*n:end*n])
			}
		}
	}
}

// newPatches is memory for the gradients of what each output pixel of an image depends on.
func (r *convolveRecord) newPatches(t *Tape) kernel.Matrix {
	if r.x.Grad == nil || r.pointwise() {
		return kernel.Matrix{}
	}
	out := r.Out(1)
	pixels := out.Height * out.Width
	return kernel.Dense(t.values.alloc(pixels*r.w.Rows), pixels, r.w.Rows)
}

// addPatches adds patches to the gradient of the image that they belong to: [output pixels, Kernel²·Channels],
// with the overlaps of neighbours added in the order of the pixels. What fell on the padding is dropped.
func (c Convolution) addPatches(image, patches []float32) {
	out, in, n := c.Out(1), c.In, c.In.Channels
	top, left := padding(in.Height, out.Height, c.Kernel, c.Stride), padding(in.Width, out.Width, c.Kernel, c.Stride)
	width := c.Kernel * n
	for i := range out.Height {
		for j := range out.Width {
			// The part of a patch that lies within the line: pixels from … to−1 of the image.
			column := j*c.Stride - left
			from, to := max(column, 0), min(column+c.Kernel, in.Width)
			for p := range c.Kernel {
				row, patch := i*c.Stride+p-top, patches[:width]
				patches = patches[width:]
				if row >= 0 && row < in.Height && from < to {
					addShort(image[(row*in.Width+from)*n:(row*in.Width+to)*n], patch[(from-column)*n:(to-column)*n])
				}
			}
		}
	}
}

// addShort is kernel.Add, whose call costs more than it saves where there are few values.
func addShort(dst, x []float32) {
	if len(dst) >= 16 {
		kernel.Add(dst, x)
		return
	}
	for i, v := range x {
		dst[i] += v
	}
}

// padding is how many zeros stand before a line of the given length: half of all that the output needs, rounded
// down.
func padding(in, out, size, stride int) int { return max((out-1)*stride+size-in, 0) / 2 }

// Subpixel returns larger images, whose pixels are channels of those in the rows of x: with the factor f and
// in.Channels = f²·n,
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
		r.runs(func(s, l, n int) { addShort(small[s:s+n], large[l:l+n]) })
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
