package array

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Reasons for refusing a file.
var (
	// ErrFormat is returned for bytes that are no NumPy file, or a damaged one.
	ErrFormat = errors.New("not a valid numpy file")
	// ErrMATLAB is returned for bytes that are no MATLAB file, or a damaged one.
	ErrMATLAB = errors.New("not a valid MATLAB file")
	// ErrVersion is returned for MATLAB files of other versions than 4 and 5.
	ErrVersion = errors.New("is of a MATLAB version that is not read")
	// ErrTruncated is returned when the file ends before its array or variable does.
	ErrTruncated = errors.New("ends too early")
	// ErrObject is returned for arrays of Python objects, which only Python can read.
	ErrObject = errors.New("holds Python objects")
	// ErrType is returned for element types that are not numbers.
	ErrType = errors.New("has an element type that is not read")
	// ErrLimit is returned when the data exceed what the reader is allowed to hold.
	ErrLimit = errors.New("is larger than the limit")
)

// magic begins every .npy file. The version follows in two bytes, then the length of the header, in two bytes
// (version 1) or four, little-endian, and the header; see parseHeader.
const magic = "\x93NUMPY"

// maxHeader is the largest header in bytes. numpy writes less than 200 bytes for arrays of numbers.
const maxHeader = 1 << 16

// firstRead is the most memory that is allocated before any data have arrived.
const firstRead = 1 << 20

// Read reads one array, which has to end where r ends. It refuses an array of more than limit bytes before it reads
// the data. The elements are in the order and byte order of the file; Float32s and Float64s turn them round. Errors
// are those above.
func Read(r io.Reader, limit int64) (*Array, error) { return read(r, limit, math.MaxInt64) }

// read also refuses an array that is larger than the available bytes.
func read(r io.Reader, limit, available int64) (*Array, error) {
	a, err := ReadHeader(r)
	if err != nil {
		return nil, err
	}
	size, err := Bytes(a.Shape, a.Size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if size > limit {
		return nil, fmt.Errorf("%w: %d bytes of data, %d allowed", ErrLimit, size, limit)
	}
	if size > available {
		return nil, fmt.Errorf("%w: shape %v takes %d bytes, the archive has %d", ErrTruncated, a.Shape, size, available)
	}
	if a.Raw, err = readData(r, size); err != nil {
		return nil, err
	}
	// One byte more tells an array that ends here from one whose shape is wrong, and makes an archive compare its
	// checksum.
	var one [1]byte
	switch n, err := io.ReadFull(r, one[:]); {
	case n > 0:
		return nil, fmt.Errorf("%w: bytes follow the %d of shape %v", ErrFormat, size, a.Shape)
	case !errors.Is(err, io.EOF): // of an archive: the checksum is wrong
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return a, nil
}

// readData reads size bytes into a buffer that grows as they arrive. It doubles, so a size that is a lie costs no
// more than 1 MiB, or twice what is there. The caller owns the buffer.
func readData(r io.Reader, size int64) ([]byte, error) {
	data := make([]byte, min(size, firstRead))
	for read := 0; ; {
		n, err := io.ReadFull(r, data[read:])
		read += n
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%w: %d of %d bytes of data", ErrTruncated, read, size)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		if int64(read) == size {
			return data, nil
		}
		grown := make([]byte, min(size, 2*int64(len(data))))
		copy(grown, data)
		data = grown
	}
}

// ReadHeader reads everything before the data and returns the array without data. The caller may read the data from
// where r then stands.
func ReadHeader(r io.Reader) (*Array, error) {
	var start [8]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return nil, headerFault(err)
	}
	if string(start[:6]) != magic {
		return nil, fmt.Errorf("%w: it begins with %q", ErrFormat, start[:6])
	}
	// Version 2 has longer headers, and version 3 names of fields in UTF-8, which are refused anyway.
	width := 2
	switch start[6] {
	case 1:
	case 2, 3:
		width = 4
	default:
		return nil, fmt.Errorf("%w: version %d.%d is unknown", ErrFormat, start[6], start[7])
	}
	var length [4]byte
	if _, err := io.ReadFull(r, length[:width]); err != nil {
		return nil, headerFault(err)
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > maxHeader {
		return nil, fmt.Errorf("%w: a header of %d bytes", ErrFormat, n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, headerFault(err)
	}
	return parseHeader(string(text))
}

// headerFault tells a file that ends within the header, ErrTruncated, from one that cannot be read, ErrFormat.
func headerFault(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: within the header", ErrTruncated)
	}
	return fmt.Errorf("%w: %w", ErrFormat, err)
}

// typeOf parses a type description such as <f4, |b1 or >U12 into the array. Accepted are b1, i1 to i8, u1 to u8, f2,
// f4, f8, U of any width, and M8 with its unit, whose byte order the first sign tells. Objects are ErrObject; all
// other types, as S, c8 or m8, are ErrType.
func typeOf(a *Array, descr string) error {
	if descr == "" {
		return fmt.Errorf("%w: no type", ErrFormat)
	}
	rest := descr
	switch descr[0] {
	case '>':
		a.BigEndian = true
		rest = descr[1:]
	// The order of the machine, =, is taken for little-endian.
	case '<', '|', '=':
		rest = descr[1:]
	}
	if strings.HasPrefix(rest, "O") {
		return ErrObject
	}
	// Dates count whole units since 1970, in 8 bytes.
	if unit, ok := strings.CutPrefix(rest, "M8["); ok {
		a.Kind, a.Size, a.Unit = Int, 8, strings.TrimSuffix(unit, "]")
		return nil
	}
	var letter byte
	var size int
	if n, err := fmt.Sscanf(rest, "%c%d", &letter, &size); n != 2 || err != nil || size < 0 {
		return fmt.Errorf("%w: %q", ErrType, descr)
	}
	kinds := map[byte]struct {
		kind  Kind
		sizes string
	}{'b': {Bool, "1"}, '?': {Bool, "1"}, 'i': {Int, "1248"}, 'u': {Uint, "1248"}, 'f': {Float, "248"}}
	if letter == 'U' && size <= maxHeader {
		a.Kind, a.Size = Text, 4*max(size, 1)
		return nil
	}
	k, ok := kinds[letter]
	if !ok || size > 8 || !strings.Contains(k.sizes, fmt.Sprint(size)) {
		return fmt.Errorf("%w: %q", ErrType, descr)
	}
	a.Kind, a.Size = k.kind, size
	return nil
}
