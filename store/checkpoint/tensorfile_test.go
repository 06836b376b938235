package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// file puts a header and elements together.
func file(header string, body ...byte) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), body...)
}

func written(t *testing.T, metadata map[string]string, tensors ...Array) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := Write(&b, metadata, tensors)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("%d bytes of %d, %v", n, b.Len(), err)
	}
	return b.Bytes()
}

// The bytes are those that the format prescribes, to the last blank.
func TestWrite_Golden(t *testing.T) {
	got := written(t, map[string]string{"step": "3", "format": "switchyard"},
		New("a/w", []int{2, 1}, []float32{1, -2}), New("π<", nil, []float64{0.5}), New("n", []int{1}, []int64{-1}), New("mask", []int{3}, []uint8{1, 0, 255}), New("none", []int{0, 4}, []float32{}))
	header := `{"__metadata__":{"format":"switchyard","step":"3"}` +
		`,"a/w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}` +
		`,"π\u003c":{"dtype":"F64","shape":[],"data_offsets":[8,16]}` +
		`,"n":{"dtype":"I64","shape":[1],"data_offsets":[16,24]}` +
		`,"mask":{"dtype":"U8","shape":[3],"data_offsets":[24,27]}` +
		`,"none":{"dtype":"F32","shape":[0,4],"data_offsets":[27,27]}}`
	header += strings.Repeat(" ", (8-len(header)%8)%8)
	want := file(
		header,
		0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0,
		0, 0, 0, 0, 0, 0, 0xe0, 0x3f,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		1, 0, 255,
	)
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// What was written is read, to the bits, also where it takes several strips.
func TestRead_RoundTrip(t *testing.T) {
	long := make([]float64, strip/8*2+3)
	for i := range long {
		long[i] = 1 / float64(i+1)
	}
	nan := math.Float32frombits(0x7fc12345)
	data := written(t, map[string]string{"k": "v"},
		New("long", []int{len(long)}, long), New("bits", []int{3}, []float32{nan, float32(math.Inf(-1)), float32(math.Copysign(0, -1))}),
		New("i", nil, []int64{math.MinInt64}), New("u", []int{1, 2}, []uint8{7, 8}))
	f, err := Decode(data)
	if err != nil || len(f.Tensors) != 4 || f.Metadata["k"] != "v" {
		t.Fatalf("got %+v, %v", f, err)
	}
	if x, err := Values[float64](f.Tensors[0]); err != nil || !slices.Equal(x, long) {
		t.Errorf("F64 differs, %v", err)
	}
	if x, err := Values[float32](f.Tensors[1]); err != nil || math.Float32bits(x[0]) != 0x7fc12345 || !math.IsInf(float64(x[1]), -1) || !math.Signbit(float64(x[2])) {
		t.Errorf("F32: %v, %v", x, err)
	}
	if x, err := Values[int64](f.Tensors[2]); err != nil || !slices.Equal(x, []int64{math.MinInt64}) {
		t.Errorf("I64: %v, %v", x, err)
	}
	u, err := f.Tensor("u")
	if x, e := Values[uint8](u); errors.Join(err, e) != nil || !slices.Equal(x, []uint8{7, 8}) || !slices.Equal(u.Shape, []int{1, 2}) {
		t.Errorf("U8: %v of %v, %v, %v", x, u, err, e)
	}
	if again := written(t, f.Metadata, f.Tensors...); !bytes.Equal(again, data) {
		t.Error("a file that was read is written otherwise")
	}
}

func TestValues_Refuses(t *testing.T) {
	x := New("x", []int{2}, []float32{1, 2})
	if _, err := Values[float64](x); !errors.Is(err, ErrTensor) || !strings.Contains(err.Error(), `"x" has elements of type F32, want F64`) {
		t.Errorf("got %v", err)
	}
	if err := Copy(make([]float32, 3), x); !errors.Is(err, ErrTensor) || !strings.Contains(err.Error(), `"x" has 2 elements, want 3`) {
		t.Errorf("got %v", err)
	}
	if v, err := Values[float32](x); err != nil || !slices.Equal(v, []float32{1, 2}) {
		t.Errorf("got %v, %v", v, err)
	}
	if _, err := new(File).Tensor("y"); !errors.Is(err, ErrTensor) || !strings.Contains(err.Error(), `"y"`) {
		t.Errorf("got %v", err)
	}
}

func TestWrite_Refuses(t *testing.T) {
	one := []float32{1}
	for want, tensors := range map[string][]Array{
		"two tensors are named":    {New("a", nil, one), New("a", nil, one)},
		`"__metadata__" cannot be`: {New(metadataKey, nil, one)},
		`"\xff" cannot be`:         {New("\xff", nil, one)},
		"has 2 elements, there":    {New("a", []int{2}, one)},
		"negative dimension":       {New("a", []int{-1, -1}, one)},
		"more elements than":       {New("a", []int{math.MaxInt, 2}, one)},
		`type "" is not written`:   {{Name: "a"}},
		`type "F1" is not writte`:  {{Name: "a", Type: "F1"}},
	} {
		if _, err := Write(io.Discard, nil, tensors); !errors.Is(err, ErrTensor) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Write(&failing{2}, nil, []Array{New("b", nil, one)}); !errors.Is(err, io.ErrShortWrite) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("got %v", err)
	}
	if _, err := Write(&failing{1}, nil, nil); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
}

// failing fails at the n-th write.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left <= 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// Every lie of a file is told with the tensor that it is about.
func TestDecode_Refuses(t *testing.T) {
	const good = `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	if _, err := Decode(file(good, 1, 2, 3, 4)); err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(file(good+"   \n", 1, 2, 3, 4)); err != nil {
		t.Errorf("padded: %v", err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":            {nil, "0 bytes"},
		"header too long":  {file(good)[:30], "header of 54 bytes, there are 22"},
		"header absurd":    {bytes.Repeat([]byte{255}, 8), "header of 18446744073709551615"},
		"no object":        {file(`[]`), "no JSON object"},
		"no JSON":          {file(`x`), "no JSON object"},
		"torn JSON":        {file(good[:20]), `tensor "a"`},
		"torn after entry": {file(good[:len(good)-1]), "header"},
		"more JSON":        {file(good+"{}", 1, 2, 3, 4), "follows its end"},
		"twice":            {file(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`), `"a" appears twice`},
		"metadata":         {file(`{"__metadata__":{"a":1}}`), "metadata"},
		"foreign type":     {file(`{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`, 1, 2, 3, 4), `tensor "a": type "BF16" is not read`},
		"no shape":         {file(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, 1, 2, 3, 4), `tensor "a"`},
		"one offset":       {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4]}}`, 1, 2, 3, 4), `tensor "a"`},
		"negative shape":   {file(`{"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, 1, 2, 3, 4), "negative"},
		"absurd shape":     {file(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}}`, 1, 2, 3, 4), `tensor "a": shape`},
		"huge number":      {file(`{"a":{"dtype":"F32","shape":[1e40],"data_offsets":[0,4]}}`, 1, 2, 3, 4), `tensor "a"`},
		"fraction":         {file(`{"a":{"dtype":"F32","shape":[0.5],"data_offsets":[0,4]}}`, 1, 2, 3, 4), `tensor "a"`},
		"other size":       {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 1, 2, 3, 4, 5, 6, 7, 8), "4 bytes for shape [2] of F32"},
		"beyond the end":   {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 1, 2, 3, 4), `tensor "a": bytes [0 8]`},
		"backwards":        {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,-4]}}`, 1, 2, 3, 4), `tensor "a": bytes [0 -4]`},
		"gap":              {file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 1, 2), `tensor "a": bytes [1 2]`},
		"overlap":          {file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 1, 2, 3), `tensor "b": bytes [1 3]`},
		"more elements":    {file(good, 1, 2, 3, 4, 5), "5 bytes of elements, the header describes 4"},
	} {
		if _, err := Decode(c.data); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	if _, err := Decode(file(good)); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("got %v", err)
	}
}

// Whatever the bytes are, they are refused or they are tensors, which are written and read again as the same ones.
func FuzzDecode(f *testing.F) {
	f.Add(file(`{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"I64","shape":[],"data_offsets":[4,12]}}`, make([]byte, 12)...))
	f.Add(file(`{"b":{"dtype":"U8","shape":[1,2],"data_offsets":[8,10]},"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"z":{"dtype":"F32","shape":[3,0],"data_offsets":[8,8]}} `, make([]byte, 10)...))
	f.Add(file(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("got %v", err)
			}
			return
		}
		two, err := Decode(written(t, one.Metadata, one.Tensors...))
		if err != nil || len(two.Tensors) != len(one.Tensors) || len(two.Metadata) != len(one.Metadata) {
			t.Fatalf("got %+v, %v, want %+v", two, err, one)
		}
		for i, a := range one.Tensors {
			b := two.Tensors[i]
			if a.Name != b.Name || a.Type != b.Type || !slices.Equal(a.Shape, b.Shape) || !bytes.Equal(a.bytes, b.bytes) {
				t.Errorf("got %+v, want %+v", b, a)
			}
		}
	})
}
