package eval

import (
	"encoding/json"
	"fmt"
	"math"
)

// Number is a number of JSON that may be null. JSON has no word for NaN and infinities: what is not finite is written
// as null, and null is read as NaN. Numbers of messages, files and reports are of this type; arithmetic is with
// float64.
type Number float64

// Finite reports whether JSON has a number for v.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// MarshalJSON writes null for what is not finite.
func (n Number) MarshalJSON() ([]byte, error) {
	if !Finite(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads a number or null.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	var v float64
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("a value is %s, want a number, or null where it is missing", b)
	}
	*n = Number(v)
	return nil
}

// NumberList are numbers as those of a message or a file.
func NumberList(x []float64) []Number { return convert[Number](x) }

// NumberList32 are the same, of numbers in float32.
func NumberList32(x []float32) []Number { return convert[Number](x) }

// NumberRows are rows of numbers as those of a message or a file.
func NumberRows(x [][]float64) [][]Number {
	y := make([][]Number, len(x))
	for i, row := range x {
		y[i] = NumberList(row)
	}
	return y
}

// Floats are the numbers of a message or a file to compute with.
func Floats(x []Number) []float64 { return convert[float64](x) }

// Floats32 are the same, rounded to float32.
func Floats32(x []Number) []float32 { return convert[float32](x) }

// convert changes the type of numbers. An empty list stays one: it is not null.
func convert[B, A ~float32 | ~float64](x []A) []B {
	y := make([]B, len(x))
	for i, v := range x {
		y[i] = B(v)
	}
	return y
}
