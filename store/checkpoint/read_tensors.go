package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxHeader is the largest header in bytes, as in the reference implementation of the format.
const maxHeader = 100_000_000

// File is the content of a file. A File of Decode refers to the bytes that it was made from.
type File struct {
	Metadata map[string]string // nil: the file has none
	Tensors  []Array           // in the order of their elements in the file
}

// Tensor returns the tensor of a name, or ErrTensor.
func (f *File) Tensor(name string) (Array, error) {
	i := slices.IndexFunc(f.Tensors, func(t Array) bool { return t.Name == name })
	if i < 0 {
		return Array{}, fmt.Errorf("%w: %q is not in the file", ErrTensor, name)
	}
	return f.Tensors[i], nil
}

// Decode reads the bytes of a file. The tensors refer to data, which must not change. Errors match ErrFormat and name
// the tensor. Every length in data is compared with the number of existing bytes before it is used. Files of any
// program are read, as long as their tensors have a supported type, lie one behind the other and leave no gap.
func Decode(data []byte) (*File, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("%w: %d bytes, a file has at least 8", ErrFormat, len(data))
	}
	n, rest := binary.LittleEndian.Uint64(data), data[8:]
	if n > maxHeader || n > uint64(len(rest)) {
		return nil, fmt.Errorf("%w: header of %d bytes, there are %d, and at most %d are read", ErrFormat, n, len(rest),
			maxHeader)
	}
	f, places, err := parseHeader(rest[:n])
	if err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrFormat, err)
	}
	body := rest[n:]
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.from(), b.from()), cmp.Compare(a.to(), b.to()))
	})
	at := 0
	for _, p := range places {
		t, err := p.tensor(at, body)
		if err != nil {
			return nil, fmt.Errorf("%w: tensor %q: %w", ErrFormat, p.name, err)
		}
		f.Tensors = append(f.Tensors, t)
		at += len(t.bytes)
	}
	if at != len(body) {
		return nil, fmt.Errorf("%w: %d bytes of elements, the header describes %d", ErrFormat, len(body), at)
	}
	return f, nil
}

// place is the entry of a tensor in the header.
type place struct {
	name    string
	Type    Type  `json:"dtype"`
	Shape   []int `json:"shape"`
	Offsets []int `json:"data_offsets"` // first byte, and the byte after the last
}

func (p place) from() int { return p.Offsets[0] }
func (p place) to() int   { return p.Offsets[1] }

// tensor returns the tensor. Its elements have to begin at byte at of the body. The tensor refers to body.
func (p place) tensor(at int, body []byte) (Array, error) {
	width := p.Type.width()
	if width == 0 {
		return Array{}, fmt.Errorf("type %.20q is not read; %s, %s, %s and %s are", p.Type, F32, F64, I64, U8)
	}
	if p.from() != at || p.to() < at || p.to() > len(body) {
		return Array{}, fmt.Errorf("bytes %v, want a range that begins at %d and ends by %d", p.Offsets, at, len(body))
	}
	n, err := countOf(p.Shape, len(body)/width)
	if err != nil {
		return Array{}, err
	}
	if n*width != p.to()-at {
		return Array{}, fmt.Errorf("%d bytes for shape %v of %s", p.to()-at, p.Shape, p.Type)
	}
	return Array{Name: p.name, Type: p.Type, Shape: p.Shape, bytes: body[at:p.to():p.to()]}, nil
}

// parseHeader reads the JSON of the header. No key may appear twice. The places are in the order of the text, which
// need not be that of the elements.
func parseHeader(text []byte) (*File, []place, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, nil, errors.Join(errors.New("it is no JSON object"), err)
	}
	f, seen := new(File), make(map[string]bool)
	var places []place
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		key, _ := token.(string) // a token before a value is a key
		if seen[key] {
			return nil, nil, fmt.Errorf("%.100q appears twice", key)
		}
		seen[key] = true
		if key == metadataKey {
			if err := d.Decode(&f.Metadata); err != nil {
				return nil, nil, fmt.Errorf("metadata: %w", err)
			}
			continue
		}
		p := place{name: key}
		if err := d.Decode(&p); err != nil {
			return nil, nil, fmt.Errorf("tensor %.100q: %w", key, err)
		}
		if len(p.Offsets) != 2 || p.Shape == nil {
			return nil, nil, fmt.Errorf("tensor %.100q: it lacks shape or data_offsets of two numbers", key)
		}
		places = append(places, p)
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	if token, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("%v follows its end", token)
	}
	return f, places, nil
}
