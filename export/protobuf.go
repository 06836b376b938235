package export

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMessage is returned for bytes that are no message, and for fields that are neither numbers nor bytes.
var ErrMessage = errors.New("protobuf: not a message")

// Fields calls visit for each field of a message, in its order; b is nil for a number. It returns what visit
// returns, or ErrMessage. b shares memory with data. Messages within it are visited by calling Fields again, and
// field numbers may be there several times.
func Fields(data []byte, visit func(field protowire.Number, v uint64, b []byte) error) error {
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrMessage, protowire.ParseError(n))
		}
		data = data[n:]
		var v uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(data)
		// Numbers of fixed width and groups are not read.
		default:
			return fmt.Errorf("%w: field %d has the type %d", ErrMessage, field, kind)
		}
		if n < 0 {
			return fmt.Errorf("%w: field %d: %w", ErrMessage, field, protowire.ParseError(n))
		}
		data = data[n:]
		if err := visit(field, v, b); err != nil {
			return err
		}
	}
	return nil
}
