package export

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/switchyard-ml/switchyard/model"
)

// errONNX is returned for bytes that are no file of Encode.
var errONNX = errors.New("onnx: not a file of this package")

// decode reads what Encode wrote.
func decode(data []byte) (model.Graph, error) {
	var g model.Graph
	err := Fields(data, func(field protowire.Number, v uint64, b []byte) error {
		if field != modelGraph {
			return nil
		}
		return Fields(b, func(field protowire.Number, _ uint64, b []byte) error { return decodePart(&g, field, b) })
	})
	if errors.Is(err, ErrMessage) {
		err = fmt.Errorf("%w: %w", errONNX, err)
	}
	return g, err
}

func decodePart(g *model.Graph, field protowire.Number, b []byte) error {
	switch field {
	case graphName:
		g.Name = string(b)
	case graphDoc:
		g.Doc = string(b)
	case graphNode:
		var n model.Node
		g.Nodes = append(g.Nodes, n)
		at := &g.Nodes[len(g.Nodes)-1]
		return Fields(b, func(field protowire.Number, _ uint64, b []byte) error {
			switch field {
			case nodeInput:
				at.Inputs = append(at.Inputs, string(b))
			case nodeOutput:
				at.Output = string(b)
			case nodeOp:
				at.Op = string(b)
			}
			return nil
		})
	case graphInitializer:
		w, err := decodeTensor(b)
		g.Weights = append(g.Weights, w)
		return err
	case graphInput, graphOutput:
		v, err := decodeInfo(b)
		if field == graphInput {
			g.Inputs = append(g.Inputs, v)
		} else {
			g.Outputs = append(g.Outputs, v)
		}
		return err
	}
	return nil
}

func decodeTensor(b []byte) (model.Weight, error) {
	var w model.Weight
	var dims []int
	err := Fields(b, func(field protowire.Number, v uint64, b []byte) error {
		switch field {
		case tensorDims:
			dims = append(dims, int(v))
		case tensorName:
			w.Name = string(b)
		case tensorRaw:
			for i := 0; i+4 <= len(b); i += 4 {
				w.Values = append(w.Values, math.Float32frombits(binary.LittleEndian.Uint32(b[i:])))
			}
		}
		return nil
	})
	if len(dims) == 0 || len(dims) > 2 {
		return w, errors.Join(err, fmt.Errorf("%w: tensor %s of %v", errONNX, w.Name, dims))
	}
	w.Cols = dims[len(dims)-1]
	if len(dims) == 2 {
		w.Rows = dims[0]
	}
	if max(w.Rows, 1)*w.Cols != len(w.Values) {
		return w, errors.Join(err, fmt.Errorf("%w: tensor %s of %v has %d values", errONNX, w.Name, dims, len(w.Values)))
	}
	return w, err
}

func decodeInfo(b []byte) (model.Value, error) {
	var y model.Value
	down := func(b []byte, want protowire.Number, do func(b []byte) error) error {
		return Fields(b, func(field protowire.Number, _ uint64, b []byte) error {
			if field == want {
				return do(b)
			}
			return nil
		})
	}
	err := Fields(b, func(field protowire.Number, _ uint64, b []byte) error {
		switch field {
		case infoName:
			y.Name = string(b)
		case infoDoc:
			y.Doc = string(b)
		case infoType:
			return down(b, typeTensor, func(b []byte) error {
				return down(b, tensorShape, func(b []byte) error {
					return down(b, shapeDim, func(b []byte) error {
						return Fields(b, func(field protowire.Number, v uint64, _ []byte) error {
							if field == dimValue && v > 0 {
								y.Width = int(v)
							}
							return nil
						})
					})
				})
			})
		}
		return nil
	})
	return y, err
}
