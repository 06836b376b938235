package model

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/rng"
)

// Convolution is a convolutional layer: the same affine map at every place of an image.
type Convolution struct {
	Geometry autodiff.Convolution
	Map      Dense // from a patch to the channels of a pixel
}

// NewConvolution declares the parameters of a convolutional layer with so many output channels, drawn from
// U(±1/√inputs) for the inputs of an output value.
func NewConvolution(p *autodiff.Params, name string, g autodiff.Convolution, channels int,
	draws *rng.Stream,
) Convolution {
	return Convolution{g, NewDense(p, name, g.Inputs(), channels, draws)}
}

// Out is the shape of the layer's output: ⌈height/stride⌉ × ⌈width/stride⌉ pixels with as many channels as the map
// has columns.
func (c Convolution) Out() autodiff.Image { return c.Geometry.Out(c.Map.W.Cols) }

// Apply returns act(x ∗ W + b) for the images in the rows of x, [n, In.Size()], as rows [n, Out().Size()]. Pixels
// stand line by line, the channels of a pixel side by side.
func (c Convolution) Apply(t *autodiff.Tape, x autodiff.Tensor, act autodiff.Activation) autodiff.Tensor {
	return t.Convolve(x, c.Map.W, c.Map.B, c.Geometry, act)
}
