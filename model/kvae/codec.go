package kvae

import (
	"cmp"
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// codec is the auto-encoder: q(a_t | x_t) = N(μ, diag σ²) with σ² = R·sigmoid(·), and p(x_t | a_t). Images have the
// networks
//
//	x → [3×3, stride 2, ReLU] × layers → μ, σ²;   a → linear → [3×3, ReLU → subpixel × 2] × layers → 1×1 → logits
//
// and vectors residual ones.
type codec struct {
	variance float32 // R, the largest variance of a code

	// The encoder: convolutions of images, or the trunk.
	down  []model.Convolution
	trunk model.Body // of vectors
	mean  model.Dense
	scale model.Dense // of the variance, before the sigmoid

	// The decoder: that of images, or the emission.
	start    model.Dense
	up       []model.Convolution
	pixel    model.Convolution
	emission statespace.Emission // of vectors
}

// side is the kernel of a convolution.
const side = 3

// newCodec declares and initialises the networks for observations of the data: encoder first, then heads, then
// decoder.
func newCodec(p *autodiff.Params, s *Settings, d model.Data, draws *rng.Stream) codec {
	n, na := codec{variance: float32(s.CodeVariance)}, s.codes(d)
	if !s.convolves(d.Image) {
		width := cmp.Or(s.EncoderHidden, s.Hidden)
		n.trunk = model.NewBody(p, "encoder", d.NX, width, s.Blocks, draws)
		n.heads(p, width, na, draws)
		n.emission = statespace.NewEmission(p, statespace.EmissionConfig{
			Density: s.Emission, SD: s.EmissionSD, NX: d.NX, NZ: na, Hidden: s.Hidden, Blocks: s.Blocks,
		}, draws)
		return n
	}
	image := autodiff.Image{Height: d.Image[0], Width: d.Image[1], Channels: d.Image[2]}
	// The encoder halves the image with each layer, and the decoder doubles it as often.
	for i := range s.Convolutions {
		c := model.NewConvolution(p, fmt.Sprintf("encoder.convolution%d", i+1),
			autodiff.Convolution{In: image, Kernel: side, Stride: 2}, s.Channels, draws)
		n.down, image = append(n.down, c), c.Out()
	}
	n.heads(p, image.Size(), na, draws)
	n.start = model.NewDense(p, "decoder.start", na, image.Size(), draws)
	for i := range s.Convolutions {
		c := model.NewConvolution(p, fmt.Sprintf("decoder.convolution%d", i+1),
			autodiff.Convolution{In: image, Kernel: side, Stride: 1}, 4*s.Channels, draws)
		n.up = append(n.up, c)
		image = autodiff.Image{Height: 2 * image.Height, Width: 2 * image.Width, Channels: s.Channels}
	}
	n.pixel = model.NewConvolution(p, "decoder.pixel", autodiff.Convolution{In: image, Kernel: 1, Stride: 1}, d.Image[2],
		draws)
	return n
}

// heads declares what mean and variance of a code are read by, from features of the given width.
func (n *codec) heads(p *autodiff.Params, width, na int, draws *rng.Stream) {
	n.mean = model.NewDense(p, "encoder.mean", width, na, draws)
	n.scale = model.NewDense(p, "encoder.variance", width, na, draws)
}

// features are what the heads of the encoder read of x, row by row: the last image of the convolutions, or the
// trunk.
func (n *codec) features(t *autodiff.Tape, x autodiff.Tensor) autodiff.Tensor {
	if n.down == nil {
		return n.trunk.Apply(t, x)
	}
	for _, c := range n.down {
		x = c.Apply(t, x, autodiff.ReLU)
	}
	return x
}

// encode returns mean and variance of q(a | x) for every row of x. They are [rows, na]; the variance lies between
// 0 and R.
func (n *codec) encode(t *autodiff.Tape, x autodiff.Tensor) (mean, variance autodiff.Tensor) {
	features := n.features(t, x)
	scale := n.scale.Apply(t, features)
	share := t.New(scale.Rows, scale.Cols)
	t.Sigmoid(share, scale)
	return n.mean.Apply(t, features), t.Scale(share, n.variance)
}

// logits are those of the pixels of an image for every row of a. Subpixels and the last layer, a map of each pixel,
// change places: the pixels of a group stand side by side until that is applied.
func (n *codec) logits(t *autodiff.Tape, a autodiff.Tensor) autodiff.Tensor {
	x := n.start.Apply(t, a)
	last := len(n.up) - 1
	for _, c := range n.up[:last] {
		x = t.Subpixel(c.Apply(t, x, autodiff.ReLU), c.Out(), 2)
	}
	x = n.up[last].Apply(t, x, autodiff.ReLU)
	x = n.pixel.Apply(t, x, autodiff.Identity)
	small, channels := n.up[last].Out(), n.pixel.Out().Channels
	return t.Subpixel(x, autodiff.Image{Height: small.Height, Width: small.Width, Channels: 4 * channels}, 2)
}

// negativeLogLikelihood is the scalar −Σ log p(x_t | a_t) over the values that were seen.
func (n *codec) negativeLogLikelihood(t *autodiff.Tape, b model.Batch, a autodiff.Tensor) autodiff.Tensor {
	if n.up == nil {
		return n.emission.NegativeLogLikelihood(t, b, a)
	}
	x := t.Constant(b.Observations, a.Rows, b.NX)
	var seen autodiff.Tensor
	if b.Seen != nil {
		seen = t.Constant(b.Seen, x.Rows, x.Cols)
	}
	return t.BernoulliNLL(x, n.logits(t, a), seen)
}

// predict returns mean and standard deviation of p(x | a) for every row of a, on a tape that does not record; of a
// binary observation the probabilities of a one, and a standard deviation without columns. They are [rows, nx].
func (n *codec) predict(t *autodiff.Tape, a autodiff.Tensor) (mean, sd autodiff.Tensor) {
	if n.up == nil {
		return n.emission.Predict(t, a)
	}
	mean = n.logits(t, a)
	t.Sigmoid(mean, mean)
	return mean, autodiff.Tensor{}
}
