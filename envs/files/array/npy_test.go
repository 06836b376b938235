package array

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// file builds an array file with any header.
func file(version byte, header string, data ...byte) []byte {
	b := append([]byte(magic), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	return append(append(b, header...), data...)
}

func header(descr string, columnMajor bool, shape string) string {
	order := "False"
	if columnMajor {
		order = "True"
	}
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }          \n", descr, order, shape)
}

func TestRead_TypesAndOrders(t *testing.T) {
	for _, c := range []struct {
		descr string
		data  []byte
		want  []float64
	}{
		{"<f4", []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}, []float64{1, -2}},
		{">f4", []byte{0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}, []float64{1, -2}},
		{"<f8", binary.LittleEndian.AppendUint64(make([]byte, 8), math.Float64bits(0.1)), []float64{0, 0.1}},
		{"<f2", []byte{0x00, 0x3c, 0x01, 0x00}, []float64{1, math.Ldexp(1, -24)}},
		{">f2", []byte{0x7b, 0xff, 0xfc, 0x00}, []float64{65504, math.Inf(-1)}},
		{"|b1", []byte{0, 1}, []float64{0, 1}},
		{"|i1", []byte{0xff, 2}, []float64{-1, 2}},
		{"|u1", []byte{0xff, 2}, []float64{255, 2}},
		{"<i2", []byte{0xfe, 0xff, 1, 0}, []float64{-2, 1}},
		{">u2", []byte{0xff, 0xfe, 0, 1}, []float64{65534, 1}},
		{">i4", []byte{0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 1}, []float64{-2, 1}},
		{"<u4", []byte{0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0}, []float64{1<<32 - 1, 1}},
		{"<i8", bytes.Repeat([]byte{0xff}, 16), []float64{-1, -1}},
		{"<u8", append(make([]byte, 8), 1, 0, 0, 0, 0, 0, 0, 0), []float64{0, 1}},
	} {
		for version := byte(1); version <= 3; version++ {
			a, err := Read(bytes.NewReader(file(version, header(c.descr, false, "(2,)"), c.data...)), 1<<20)
			if err != nil {
				t.Errorf("%s, version %d: %v", c.descr, version, err)
				continue
			}
			if got := a.Float64s(); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", c.descr, got, c.want)
			}
			if got := a.Float32s(); got[0] != float32(c.want[0]) || got[1] != float32(c.want[1]) {
				t.Errorf("%s: got %v as float32, want %v", c.descr, got, c.want)
			}
		}
	}
}

func TestRead_FortranOrder(t *testing.T) {
	// The element (i,j,k) is 100i + 10j + k, the first index running fastest.
	var data []byte
	var want []float64
	for k := range 4 {
		for j := range 3 {
			for i := range 2 {
				data = append(data, byte(100*i+10*j+k))
			}
		}
	}
	for i := range 2 {
		for j := range 3 {
			for k := range 4 {
				want = append(want, float64(100*i+10*j+k))
			}
		}
	}
	a, err := Read(bytes.NewReader(file(1, header("|u1", true, "(2, 3, 4)"), data...)), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Float64s(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRead_Text(t *testing.T) {
	a, err := Read(bytes.NewReader(file(1, header(">U2", false, "(2,)"), 0, 0, 0, 'v', 0, 0, 0, 0, 0, 0, 0, 'd', 0, 0, 3, 0xb8)), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Strings(); !slices.Equal(got, []string{"v", "dθ"}) {
		t.Errorf("got %q", got)
	}
}

func TestRead_Refusals(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, ErrTruncated},
		{"text", []byte("t,y,u\n0,1,2\n"), ErrFormat},
		{"version 4", file(4, header("<f4", false, "(0,)")), ErrFormat},
		{"header cut off", file(1, header("<f4", false, "(1,)"))[:30], ErrTruncated},
		{"header of 4 GiB", append([]byte(magic), 2, 0, 0xff, 0xff, 0xff, 0xff), ErrFormat},
		{"data cut off", file(1, header("<f4", false, "(2,)"), 0, 0, 0, 0), ErrTruncated},
		{"data too long", file(1, header("<f4", false, "(1,)"), 0, 0, 0, 0, 0), ErrFormat},
		{"objects", file(1, header("|O", false, "(1,)"), 0), ErrObject},
		{"complex", file(1, header("<c8", false, "(1,)"), 0), ErrType},
		{"duration", file(1, header("<m8[s]", false, "(1,)"), 0), ErrType},
		{"float of 16 bytes", file(1, header("<f16", false, "(1,)"), 0), ErrType},
		{"record", file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n"), ErrType},
		{"negative", file(1, header("<f4", false, "(-1,)")), ErrFormat},
		{"overflowing shape", file(1, header("<f8", false, "(4294967296, 4294967296)")), ErrFormat},
		{"dimension beyond int", file(1, header("<f8", false, "(99999999999999999999,)")), ErrFormat},
		{"a terabyte", file(1, header("<f8", false, "(137438953472,)")), ErrLimit},
		{"no shape", file(1, "{'descr': '<f4', 'fortran_order': False, }\n"), ErrFormat},
		{"shape twice", file(1, "{'descr': '<f4', 'shape': (1,), 'shape': (2,), 'fortran_order': False, }\n"), ErrFormat},
		{"unknown key", file(1, "{'descr': '<f4', 'x': 1, 'fortran_order': False, 'shape': (1,), }\n"), ErrFormat},
	} {
		a, err := Read(bytes.NewReader(c.data), 1<<20)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, err = %v, want %v", c.name, a, err, c.want)
		}
	}
}

// A header that promises much takes no memory before data arrive.
func TestRead_BelievesNoLength(t *testing.T) {
	data := file(1, header("<f8", false, "(1000000000,)"), make([]byte, 100)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(bytes.NewReader(data), 1<<40)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrTruncated) {
		t.Fatal(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4*firstRead {
		t.Errorf("%d bytes were allocated for 100 bytes of data", n)
	}
}

func TestWriteHeader_AsNumpy(t *testing.T) {
	for shape, want := range map[string]struct {
		dims []int
		text string
	}{
		"none": {nil, "'shape': (), }"}, "one": {[]int{3}, "'shape': (3,), }"}, "two": {[]int{3, 4}, "'shape': (3, 4), }"},
	} {
		var b bytes.Buffer
		if err := WriteHeader(&b, Float32, want.dims); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want.text) || b.Len()%64 != 0 || !bytes.HasSuffix(b.Bytes(), []byte("\n")) {
			t.Errorf("%s: %q of %d bytes, want %s", shape, b.String(), b.Len(), want.text)
		}
		a, err := ReadHeader(&b)
		if err != nil || !slices.Equal(a.Shape, append([]int{}, want.dims...)) {
			t.Errorf("%s: read back as %v, %v", shape, a, err)
		}
	}
}

func archive(t testing.TB, write func(w *ArchiveWriter)) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewArchiveWriter(&b)
	write(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func put(t testing.TB, w *ArchiveWriter, name string, write func(io.Writer) error) {
	t.Helper()
	out, err := w.Array(name)
	if err == nil {
		err = write(out)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestArchive_RoundTrip(t *testing.T) {
	data := archive(t, func(w *ArchiveWriter) {
		put(t, w, "names", func(w io.Writer) error { return WriteStrings(w, []string{"a", "βγ"}) })
		put(t, w, "dt", func(w io.Writer) error { return WriteFloat64(w, 0.1) })
		put(t, w, "y", func(w io.Writer) error {
			return errors.Join(WriteHeader(w, Float32, []int{2, 1}), WriteFloat32s(w, []float32{1, 2}))
		})
		put(t, w, "n", func(w io.Writer) error {
			return errors.Join(WriteHeader(w, Int64, []int{2}), WriteInts(w, []int64{-1, 5}))
		})
	})
	a, err := OpenArchive(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) *Array {
		array, err := a.Read(name, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return array
	}
	if got := read("names").Strings(); !slices.Equal(got, []string{"a", "βγ"}) {
		t.Errorf("names %q", got)
	}
	if got := read("dt"); got.Len() != 1 || got.Float64s()[0] != 0.1 {
		t.Errorf("dt %v", got)
	}
	if got := read("y").Float32s(); !slices.Equal(got, []float32{1, 2}) {
		t.Errorf("y %v", got)
	}
	if got := read("n").Float64s(); !slices.Equal(got, []float64{-1, 5}) {
		t.Errorf("n %v", got)
	}
	if _, err := a.Read("y", 7); !errors.Is(err, ErrLimit) {
		t.Errorf("limit: err = %v", err)
	}
	flipped := slices.Clone(data)
	flipped[bytes.Index(data, []byte("names.npy"))+20] ^= 4
	if b, err := OpenArchive(bytes.NewReader(flipped), int64(len(flipped))); err == nil {
		if _, err := b.Read("names", 1<<20); err == nil {
			t.Error("a flipped bit was not noticed")
		}
	}
}

// A small archive that inflates to much is refused by its header, before it is inflated.
func TestArchive_Bomb(t *testing.T) {
	zeros := make([]byte, 1<<20)
	data := archive(t, func(w *ArchiveWriter) {
		put(t, w, "y", func(w io.Writer) error {
			if err := WriteHeader(w, Uint8, []int{4, 1 << 20}); err != nil {
				return err
			}
			for range 4 {
				if _, err := w.Write(zeros); err != nil {
					return err
				}
			}
			return nil
		})
	})
	a, err := OpenArchive(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read("y", 1<<20); !errors.Is(err, ErrLimit) {
		t.Errorf("%d bytes that inflate to 4 MiB: err = %v", len(data), err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(1, header("<f4", false, "(2, 1)"), make([]byte, 8)...))
	f.Add(file(2, header(">f2", true, "(2, 3)"), make([]byte, 12)...))
	f.Add(file(3, header("<U3", false, "(1,)"), make([]byte, 12)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Read(bytes.NewReader(data), 1<<20)
		if err != nil {
			return
		}
		if len(a.Raw) != a.Len()*a.Size || a.Len() > len(data) {
			t.Fatalf("%d bytes of shape %v in a file of %d", len(a.Raw), a.Shape, len(data))
		}
		if a.Kind == Text {
			a.Strings()
			return
		}
		a.Float64s()
		a.Float32s()
	})
}

func FuzzArchive(f *testing.F) {
	f.Add(archive(f, func(w *ArchiveWriter) {
		put(f, w, "y", func(w io.Writer) error {
			return errors.Join(WriteHeader(w, Float32, []int{2, 1}), WriteFloat32s(w, []float32{1, 2}))
		})
	}))
	f.Fuzz(func(_ *testing.T, data []byte) {
		a, err := OpenArchive(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, name := range a.Names() {
			if array, err := a.Read(name, 1<<20); err == nil {
				array.Float32s()
			}
		}
	})
}
