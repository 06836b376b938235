package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// metadataKey is the only entry of the header that is not a tensor.
const metadataKey = "__metadata__"

// strip is the number of bytes that are encoded before each write. Tensors in memory need no second copy of their
// size.
const strip = 1 << 16

// Write writes a file with the tensors, in their order, and returns its length in bytes. metadata may be nil. The same
// metadata and tensors give the same bytes. Names have to be unique UTF-8, and each shape has to match the number of
// values. Errors of the tensors are ErrTensor, and then nothing was written.
func Write(w io.Writer, metadata map[string]string, tensors []Array) (int64, error) {
	header, body, err := describe(metadata, tensors)
	if err != nil {
		return 0, err
	}
	start := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	if _, err := w.Write(start); err != nil {
		return 0, err
	}
	for _, t := range tensors {
		if _, err := t.WriteTo(w); err != nil {
			return 0, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	return int64(len(start) + body), nil
}

// WriteTo writes the elements as in a file, and returns the number of bytes. It implements io.WriterTo.
func (t Array) WriteTo(w io.Writer) (int64, error) {
	n, width := t.Count(), max(t.Type.width(), 1)
	buffer := make([]byte, 0, min(n*width, strip))
	written := int64(0)
	for from := 0; from < n; {
		to := min(from+strip/width, n)
		k, err := w.Write(t.encode(buffer, from, to))
		written += int64(k)
		if err != nil {
			return written, err
		}
		from = to
	}
	return written, nil
}

// describe returns the header, padded with blanks to a multiple of eight bytes, and the number of bytes after it.
// Places are counted from the end of the header.
func describe(metadata map[string]string, tensors []Array) (header []byte, body int, err error) {
	var entries []string
	if len(metadata) > 0 {
		text, err := json.Marshal(metadata) // json.Marshal sorts the keys
		if err != nil {
			return nil, 0, fmt.Errorf("encode metadata: %w", err)
		}
		entries = append(entries, fmt.Sprintf("%q:%s", metadataKey, text))
	}
	seen := make(map[string]bool)
	for _, t := range tensors {
		if err := t.check(); err != nil {
			return nil, 0, fmt.Errorf("%w: tensor %q: %w", ErrTensor, t.Name, err)
		}
		if seen[t.Name] {
			return nil, 0, fmt.Errorf("%w: two tensors are named %q", ErrTensor, t.Name)
		}
		seen[t.Name] = true
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, 0, fmt.Errorf("encode the name of tensor %q: %w", t.Name, err)
		}
		dims := strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ",")
		end := body + t.Type.width()*t.Count()
		entries = append(entries, fmt.Sprintf(`%s:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, t.Type, dims, body,
			end))
		body = end
	}
	header = []byte("{" + strings.Join(entries, ",") + "}")
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	return header, body, nil
}

// check returns why a tensor cannot be written, or nil.
func (t Array) check() error {
	n, err := countOf(t.Shape, math.MaxInt/8)
	switch {
	case CheckName(t.Name) != nil:
		return CheckName(t.Name)
	case t.Type.width() == 0:
		return fmt.Errorf("type %q is not written", t.Type)
	case err != nil:
		return err
	case n != t.Count():
		return fmt.Errorf("shape %v has %d elements, there are %d", t.Shape, n, t.Count())
	}
	return nil
}

// CheckName returns why a text cannot be the name of a tensor, or nil.
func CheckName(name string) error {
	if name == metadataKey || !utf8.ValidString(name) {
		return fmt.Errorf("%q cannot be the name of a tensor", name)
	}
	return nil
}
