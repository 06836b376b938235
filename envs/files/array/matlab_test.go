package array

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"slices"
	"testing"
)

// The files were written by scipy.io.savemat.
func TestReadMATLAB_Scipy(t *testing.T) {
	for _, name := range []string{"scipy_v6.mat", "scipy_v7.mat"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		list, err := ReadMATLAB(bytes.NewReader(data), 1<<20, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v := map[string]Variable{}
		for _, x := range list {
			v[x.Name] = x
		}
		y := v["y"].Array.Float64s()
		for i := range y {
			if y[i] != float64(i)/4 {
				t.Fatalf("%s: y = %v, want row-major quarters", name, y)
			}
		}
		if got := v["c"].Cells; len(got) != 2 || !slices.Equal(got[0].Float64s(), []float64{1, 2, 3, 4, 5, 6}) || !slices.Equal(got[1].Shape, []int{2, 2}) {
			t.Errorf("%s: cells %+v", name, got)
		}
		if got := v["i"].Array.Float64s(); !slices.Equal(got, []float64{1, -2}) {
			t.Errorf("%s: int16 = %v", name, got)
		}
		if b := v["b"]; b.Class != "logical" || !slices.Equal(b.Array.Float64s(), []float64{1, 0}) {
			t.Errorf("%s: logical = %+v", name, b)
		}
		if !slices.Equal(v["t"].Texts, []string{"text"}) || v["s"].Unread != "it is of the class struct" || v["q"].Unread != "it is complex" {
			t.Errorf("%s: text %q, struct %q, complex %q", name, v["t"].Texts, v["s"].Unread, v["q"].Unread)
		}
		if e := v["e"].Array; e.Len() != 0 {
			t.Errorf("%s: empty array has %d elements", name, e.Len())
		}
	}
}

// TestReadMATLAB_Texts: the rows of a text, and texts in cells, are texts; a sparse mask is sparse before all.
func TestReadMATLAB_Texts(t *testing.T) {
	data, err := os.ReadFile("testdata/scipy_texts.mat")
	if err != nil {
		t.Fatal(err)
	}
	list, err := ReadMATLAB(bytes.NewReader(data), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		want, unread := map[string][]string{
			"y_names": {"speed", "größe"}, "t": {"2024-01-01", "2024-01-02", "2024-01-03"}, "rows": {"ab", "c"},
		}[v.Name], map[string]string{"mask": "it is of the class sparse", "mixed": "its cell 2 is of the class double"}[v.Name]
		if !slices.Equal(v.Texts, want) || v.Unread != unread {
			t.Errorf("%s: %q, %s", v.Name, v.Texts, v.Unread)
		}
	}
	if _, err := Texts([]string{"a", "bcd"}, 23); !errors.Is(err, ErrLimit) {
		t.Errorf("texts that take 24 bytes: %v", err)
	}
}

func TestReadMATLAB_OnlyWhatIsWanted(t *testing.T) {
	data, err := os.ReadFile("testdata/scipy_v7.mat")
	if err != nil {
		t.Fatal(err)
	}
	list, err := ReadMATLAB(bytes.NewReader(data), 16, func(name string) bool { return name == "i" })
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		if (v.Array != nil) != (v.Name == "i") {
			t.Errorf("%s: read %v", v.Name, v.Array != nil)
		}
	}
	if _, err := ReadMATLAB(bytes.NewReader(data), 16, nil); !errors.Is(err, ErrLimit) {
		t.Errorf("a limit of 16 bytes: err = %v", err)
	}
}

// Version 4 as scipy writes it, in both byte orders, with every storage; what is no array of real numbers is listed.
func TestReadMATLAB_Version4(t *testing.T) {
	scipy, err := os.ReadFile("testdata/scipy_v4.mat")
	if err != nil {
		t.Fatal(err)
	}
	list, err := ReadMATLAB(bytes.NewReader(scipy), 1<<20, nil)
	if err != nil || len(list) != 1 || list[0].Array == nil {
		t.Fatalf("scipy's file: %+v, %v", list, err)
	}
	for m, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var b []byte
		add := func(storage, text, complex int, values ...byte) {
			for _, v := range []uint32{uint32(1000*m + 10*storage + text), 1, 2, uint32(complex), 2} {
				b = order.AppendUint32(b, v)
			}
			b = append(append(b, byte('a'+len(b)%26), 0), values...)
		}
		add(5, 0, 0, 7, 200)
		two := order.AppendUint16(order.AppendUint16(nil, 3), 0xfffe)
		add(3, 0, 0, two...)
		add(0, 1, 0, make([]byte, 16)...)
		add(1, 0, 1, make([]byte, 16)...)
		list, err := ReadMATLAB(bytes.NewReader(b), 1<<10, nil)
		if err != nil || len(list) != 4 {
			t.Fatalf("order %d: %+v, %v", m, list, err)
		}
		if got := list[0].Array.Float64s(); !slices.Equal(got, []float64{7, 200}) {
			t.Errorf("bytes: %v", got)
		}
		if got := list[1].Array.Float64s(); !slices.Equal(got, []float64{3, -2}) {
			t.Errorf("16 bits: %v", got)
		}
		if list[2].Unread == "" || list[3].Unread == "" {
			t.Errorf("text and complex numbers: %+v", list[2:])
		}
		for n := 1; n < len(b); n++ {
			if got, err := ReadMATLAB(bytes.NewReader(b[:n]), 1<<10, nil); err == nil && len(got) == 4 {
				t.Fatalf("%d of %d bytes were read", n, len(b))
			}
		}
	}
}

func TestReadMATLAB_OtherVersions(t *testing.T) {
	hdf := append(bytes.Repeat([]byte(" "), 124), 0, 2, 'I', 'M')
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"v7.3": {hdf, ErrVersion},
		"text": {bytes.Repeat([]byte("x"), 200), ErrMATLAB}, "empty": {nil, ErrMATLAB},
	} {
		if _, err := ReadMATLAB(bytes.NewReader(c.data), 1<<20, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: err = %v, want %v", name, err, c.want)
		}
	}
}

// matlabFile builds a file in either byte order.
type matlabFile struct {
	order binary.AppendByteOrder
	data  []byte
}

func newMATLAB(order binary.AppendByteOrder, sign string) *matlabFile {
	f := &matlabFile{order: order, data: append(bytes.Repeat([]byte(" "), 124), 0, 0)}
	f.data = order.AppendUint16(f.data[:124], 0x0100)
	f.data = append(f.data, sign...)
	return f
}

// element appends a tag, data and padding.
func (f *matlabFile) element(to []byte, kind uint32, data []byte) []byte {
	to = f.order.AppendUint32(to, kind)
	to = f.order.AppendUint32(to, uint32(len(data)))
	to = append(to, data...)
	return append(to, make([]byte, (8-len(data)%8)%8)...)
}

func (f *matlabFile) matrix(name string, shape []int32, values ...float64) []byte {
	flags := f.order.AppendUint32(f.order.AppendUint32(nil, classDouble), 0)
	var dims, data []byte
	for _, d := range shape {
		dims = f.order.AppendUint32(dims, uint32(d))
	}
	for _, v := range values {
		data = f.order.AppendUint64(data, math.Float64bits(v))
	}
	body := f.element(nil, miUint32, flags)
	body = f.element(body, miInt32, dims)
	body = f.element(body, miInt8, []byte(name))
	body = f.element(body, 9, data)
	return f.element(nil, miMatrix, body)
}

func TestReadMATLAB_BothByteOrders(t *testing.T) {
	for _, f := range []*matlabFile{newMATLAB(binary.LittleEndian, "IM"), newMATLAB(binary.BigEndian, "MI")} {
		data := append(f.data, f.matrix("y", []int32{2, 2}, 1, 3, 2, 4)...)
		list, err := ReadMATLAB(bytes.NewReader(data), 1<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := list[0].Array.Float32s(); !slices.Equal(got, []float32{1, 2, 3, 4}) {
			t.Errorf("%v: got %v, want 1 2 3 4 by rows", f.order, got)
		}
	}
}

func compress(data []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(data) // a bytes.Buffer takes all
	w.Close()
	return b.Bytes()
}

// Damage is found, not read over, and no length is believed.
func TestReadMATLAB_Damage(t *testing.T) {
	f := newMATLAB(binary.LittleEndian, "IM")
	whole := f.matrix("y", []int32{2, 2}, 1, 2, 3, 4)
	z := compress(whole)
	packed := append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, miCompressed), uint32(len(z))), z...)
	flipped := slices.Clone(packed)
	flipped[len(flipped)-1] ^= 1 // the checksum
	huge := f.matrix("y", []int32{1 << 30, 1 << 30, 1 << 30})
	long := slices.Clone(whole)
	binary.LittleEndian.PutUint32(long[4:], 1<<31)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"cut off":                {whole[:len(whole)-4], ErrTruncated},
		"cut off, compressed":    {packed[:len(packed)-9], ErrTruncated},
		"wrong checksum":         {flipped, ErrMATLAB},
		"impossible shape":       {huge, ErrMATLAB},
		"negative dimension":     {f.matrix("y", []int32{-1, 4}, 1, 2, 3, 4), ErrMATLAB},
		"shape without data":     {f.matrix("y", []int32{2, 3}, 1, 2, 3, 4), ErrMATLAB},
		"length beyond the file": {long, ErrTruncated},
		"garbage":                {[]byte("garbage that is no element at all"), ErrMATLAB},
	} {
		_, err := ReadMATLAB(bytes.NewReader(append(slices.Clone(f.data), c.data...)), 1<<20, nil)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: err = %v, want %v", name, err, c.want)
		}
	}
	if list, err := ReadMATLAB(bytes.NewReader(append(slices.Clone(f.data), packed...)), 1<<20, nil); err != nil || list[0].Array.Len() != 4 {
		t.Errorf("undamaged: %v", err)
	}
}

func FuzzReadMATLAB(f *testing.F) {
	for _, name := range []string{"scipy_v6.mat", "scipy_v7.mat", "scipy_v4.mat"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	big := newMATLAB(binary.BigEndian, "MI")
	f.Add(append(big.data, big.matrix("y", []int32{2, 2}, 1, 2, 3, 4)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ReadMATLAB(bytes.NewReader(data), 1<<20, nil)
		if err != nil {
			return
		}
		for _, v := range list {
			for _, a := range append(v.Cells, v.Array) {
				if a != nil && len(a.Float32s()) != a.Len() {
					t.Fatalf("%s: %d values of shape %v", v.Name, len(a.Float32s()), a.Shape)
				}
			}
		}
	})
}
