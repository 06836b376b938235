package export

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/switchyard-ml/switchyard/model"
)

// Opset is the version of the operators, and irVersion that of the file format.
const (
	Opset     = 13
	irVersion = 8
)

// The fields of onnx.proto that are used.
const (
	modelIR, modelProducer, modelGraph, modelOpset = 1, 2, 7, 8
	opsetVersion                                   = 2

	graphNode, graphName, graphInitializer, graphDoc, graphInput, graphOutput = 1, 2, 5, 10, 11, 12

	nodeInput, nodeOutput, nodeName, nodeOp, nodeAttribute = 1, 2, 3, 4, 5
	attributeName, attributeInt, attributeType             = 1, 3, 20
	typeInt                                                = 2

	tensorDims, tensorType, tensorName, tensorRaw = 1, 2, 8, 9
	float32Type                                   = 1

	infoName, infoType, infoDoc  = 1, 2, 3
	typeTensor                   = 1
	tensorElement, tensorShape   = 1, 2
	shapeDim, dimValue, dimParam = 1, 1, 2
)

// message is a protobuf message that grows. Its methods append a field and return the result, as append does. Fields
// stand in the order of the calls.
type message []byte

// text appends a string.
func (m message) text(field protowire.Number, s string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

// bytes appends bytes, or a message within this one.
func (m message) bytes(field protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), b)
}

// number appends a whole number as a varint.
func (m message) number(field protowire.Number, v int) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), uint64(v))
}

// Encode writes a graph as an ONNX file: a ModelProto with one GraphProto. Equal graphs give equal bytes. Nodes are
// named by operator and place; Concat, Softmax and Hardmax get axis 1, the last one of a matrix.
func Encode(g model.Graph) []byte {
	var y message
	for i, n := range g.Nodes {
		var node message
		for _, in := range n.Inputs {
			node = node.text(nodeInput, in)
		}
		node = node.text(nodeOutput, n.Output).text(nodeName, fmt.Sprintf("%s_%d", n.Op, i)).text(nodeOp, n.Op)
		if n.Op == "Concat" || n.Op == "Softmax" || n.Op == "Hardmax" {
			node = node.bytes(nodeAttribute, message(nil).text(attributeName, "axis").number(attributeInt,
				1).number(attributeType, typeInt))
		}
		y = y.bytes(graphNode, node)
	}
	y = y.text(graphName, g.Name)
	for _, w := range g.Weights {
		y = y.bytes(graphInitializer, tensor(w))
	}
	y = y.text(graphDoc, g.Doc)
	for _, v := range g.Inputs {
		y = y.bytes(graphInput, info(v))
	}
	for _, v := range g.Outputs {
		y = y.bytes(graphOutput, info(v))
	}
	return message(nil).number(modelIR, irVersion).text(modelProducer, "switchyard").bytes(modelGraph, y).
		bytes(modelOpset, message(nil).text(1, "").number(opsetVersion, Opset))
}

// tensor is a weight as a TensorProto: float32, little-endian, of the shape [rows, cols], or [cols] of a vector.
func tensor(w model.Weight) message {
	var m message
	if w.Rows > 0 {
		m = m.number(tensorDims, w.Rows)
	}
	m = m.number(tensorDims, w.Cols).number(tensorType, float32Type).text(tensorName, w.Name)
	raw := make([]byte, 0, 4*len(w.Values))
	for _, v := range w.Values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return m.bytes(tensorRaw, raw)
}

// info is the type of an input or output: [batch, width] of float32.
func info(v model.Value) message {
	shape := message(nil).bytes(shapeDim, message(nil).text(dimParam, "batch")).bytes(shapeDim,
		message(nil).number(dimValue, v.Width))
	of := message(nil).number(tensorElement, float32Type).bytes(tensorShape, shape)
	return message(nil).text(infoName, v.Name).bytes(infoType, message(nil).bytes(typeTensor, of)).text(infoDoc, v.Doc)
}
