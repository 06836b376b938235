package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	logical "github.com/parquet-go/parquet-go/format"
)

// parquetRows are the rows of a Parquet file whose columns are flat, as text: what a table reads. Dates and
// timestamps are written as dates, and missing values are empty. Columns of lists and records are left out, which notes
// say.
type parquetRows struct {
	groups  []parquet.RowGroup
	rows    parquet.Rows // of the first of the groups; nil before it was opened
	columns []parquetColumn
	leaves  map[int]int // columns by their place in the file
	said    []string    // which columns are not read
	begun   bool        // the header was read
	number  int
	record  []string
	buffer  []parquet.Row
}

// parquetColumn says what the values of a column mean, by its logical type.
type parquetColumn struct {
	name     string
	date     bool
	unit     time.Duration // of timestamps and times of the day; 0: it holds none
	clock    bool          // the values are times of the day
	uuid     bool          // 16 bytes are a name
	unsigned bool          // whole numbers have no sign
	half     bool          // two bytes are a number
	decimal  bool          // whole numbers, or bytes of one, count units of 10^−scale
	scale    int
}

// maxScale is the largest scale of decimals that is read; 256 bits have 76 digits.
const maxScale = 76

// newParquetRows opens a file, which has to stay open while rows are read. Damage that shows in its directory is an
// *Error.
func newParquetRows(f *os.File) (in *parquetRows, err error) {
	defer caught(&err)
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the data: %w", err)
	}
	if err := checkFooter(f, info.Size()); err != nil {
		return nil, parquetFault(err)
	}
	file, err := parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, parquetFault(err)
	}
	in = &parquetRows{groups: file.RowGroups(), buffer: make([]parquet.Row, 1), leaves: map[int]int{}}
	for _, c := range file.Root().Columns() {
		// Only a flat column has exactly one value, or none, in each row.
		if !c.Leaf() || c.Repeated() {
			in.skip(c, "it holds lists or records")
			continue
		}
		column, why := columnOf(c)
		if why != "" {
			in.skip(c, why)
			continue
		}
		in.leaves[c.Index()] = len(in.columns)
		in.columns = append(in.columns, column)
	}
	if len(in.columns) > maxColumns {
		return nil, faultf("", "", "it has more than %d columns", maxColumns)
	}
	in.record = make([]string, len(in.columns))
	return in, nil
}

// checkFooter returns an error for a file that is shorter than the directory at its end says, for which the library
// takes memory before it reads: the last eight bytes are its length, and PAR1.
func checkFooter(f io.ReaderAt, size int64) error {
	var end [8]byte
	if size < int64(len(end)) {
		return fmt.Errorf("it has %d bytes", size)
	}
	if _, err := f.ReadAt(end[:], size-int64(len(end))); err != nil {
		return err
	}
	if n := binary.LittleEndian.Uint32(end[:]); int64(n) > size {
		return fmt.Errorf("it has %d bytes, and a directory of %d", size, n)
	}
	return nil
}

// columnOf says what the values of a flat column mean, or why they are not read.
func columnOf(c *parquet.Column) (column parquetColumn, why string) {
	column.name = c.Name()
	annotated := c.Type().LogicalType()
	if annotated == nil {
		return column, ""
	}
	switch t := annotated.Value.(type) {
	case *logical.DateType:
		column.date = true
	case *logical.TimestampType:
		column.unit = t.Unit.Value.Duration()
	case *logical.TimeType:
		column.unit, column.clock = t.Unit.Value.Duration(), true
	case *logical.IntType:
		column.unsigned = !t.IsSigned
	case *logical.Float16Type:
		column.half = true
	case *logical.UUIDType:
		column.uuid = true
	case *logical.DecimalType:
		column.decimal, column.scale = true, int(t.Scale)
		if t.Scale < 0 || t.Scale > maxScale {
			why = fmt.Sprintf("it holds decimals of the scale %d", t.Scale)
		}
	}
	return column, why
}

// next returns the cells of the next row, which are valid until the call after it; io.EOF after the last one.
func (p *parquetRows) next() (record []string, err error) {
	defer caught(&err)
	if !p.begun {
		p.begun = true
		for i, c := range p.columns {
			p.record[i] = c.name
		}
		return p.record, nil
	}
	for {
		if len(p.groups) == 0 {
			return nil, io.EOF
		}
		// At most one group of rows is open.
		if p.rows == nil {
			p.rows = p.groups[0].Rows()
		}
		n, err := p.rows.ReadRows(p.buffer)
		if n == 1 {
			p.number++
			return p.record, p.take(p.buffer[0])
		}
		if closed := p.rows.Close(); err == nil || errors.Is(err, io.EOF) {
			err = closed
		}
		if err != nil {
			return nil, parquetFault(err)
		}
		p.rows, p.groups = nil, p.groups[1:]
	}
}

// take turns a row into texts.
func (p *parquetRows) take(row parquet.Row) error {
	clear(p.record)
	for _, v := range row {
		if i, ok := p.leaves[v.Column()]; ok {
			p.record[i] = p.columns[i].text(v)
		}
	}
	return nil
}

// text is a value as a CSV file would have it: numbers with all their digits, dates and times as ISO 8601 has them,
// in UTC; empty: missing.
func (c parquetColumn) text(v parquet.Value) string {
	switch {
	case v.IsNull():
		return ""
	case c.date:
		return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
	case c.unit > 0:
		return c.time(v)
	case c.decimal:
		return c.fixed(v)
	}
	switch v.Kind() {
	case parquet.Boolean:
		return strconv.FormatBool(v.Boolean())
	case parquet.Int32:
		if c.unsigned {
			return strconv.FormatUint(uint64(v.Uint32()), 10)
		}
		return strconv.FormatInt(int64(v.Int32()), 10)
	// The old form of timestamps: nanoseconds of a day, and a Julian day, which is 2440588 on 1 January 1970.
	case parquet.Int96:
		days, nanoseconds := int64(v.Int96()[2])-2440588, int64(v.Int96()[1])<<32|int64(v.Int96()[0])
		return time.Unix(days*day, nanoseconds).UTC().Format("2006-01-02T15:04:05.999999999")
	case parquet.Int64:
		if c.unsigned {
			return strconv.FormatUint(v.Uint64(), 10)
		}
		return strconv.FormatInt(v.Int64(), 10)
	case parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	}
	b := v.ByteArray()
	switch {
	case c.half && len(b) == 2:
		return strconv.FormatFloat(half(uint16(b[0])|uint16(b[1])<<8), 'g', -1, 64)
	case c.uuid && len(b) == 16:
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	}
	return string(b)
}

// time is a timestamp, or a time of the day, of which milliseconds have 32 bits.
func (c parquetColumn) time(v parquet.Value) string {
	at, layout := v.Int64(), "2006-01-02T15:04:05.999999999"
	if c.clock {
		layout = "15:04:05.999999999"
		if v.Kind() == parquet.Int32 {
			at = int64(v.Int32())
		}
	}
	perSecond := int64(time.Second / c.unit)
	return time.Unix(at/perSecond, at%perSecond*int64(c.unit)).UTC().Format(layout)
}

// fixed is a decimal with all its digits: a whole number in two's complement, bytes with the highest first, in units of
// 10^−scale.
func (c parquetColumn) fixed(v parquet.Value) string {
	units := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		units.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		units.SetInt64(v.Int64())
	default:
		b := v.ByteArray()
		units.SetBytes(b)
		if len(b) > 0 && b[0] >= 1<<7 {
			units.Sub(units, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	sign, digits := "", new(big.Int).Abs(units).String()
	if units.Sign() < 0 {
		sign = "-"
	}
	if c.scale == 0 {
		return sign + digits
	}
	digits = strings.Repeat("0", max(0, c.scale+1-len(digits))) + digits
	point := len(digits) - c.scale
	return sign + digits[:point] + "." + digits[point:]
}

// half is a number of 16 bits: a sign, 5 bits of exponent, 10 of fraction. IEEE 754 calls it binary16.
func half(b uint16) float64 {
	sign, exponent, fraction := 1-2*float64(b>>15), int(b>>10&31), float64(b&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction > 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// skip leaves out a column that a table has no place for.
func (p *parquetRows) skip(c *parquet.Column, why string) {
	p.said = append(p.said, fmt.Sprintf("column %s is not read: %s; write one number for each row", c.Name(), why))
}

// notes say which columns are not read.
func (p *parquetRows) notes() []string { return p.said }

// row counts from 1, without the header.
func (p *parquetRows) row() int          { return p.number }
func (*parquetRows) what() string        { return "row" }
func (*parquetRows) decimalCommas() bool { return false }

// parquetFault is the error about a file that the library cannot read.
func parquetFault(err error) error {
	return &Error{
		Problem: "it is no valid Parquet file: " + strings.TrimPrefix(err.Error(), "parquet: "),
		Remedy:  "write or copy the file again", cause: err,
	}
}

// caught turns a panic of the Parquet library, which it has for some damaged files, into an error.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = parquetFault(fmt.Errorf("%v", r))
	}
}
