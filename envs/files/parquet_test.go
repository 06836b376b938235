package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

type sale struct {
	Shop   string    `parquet:"shop"`
	Day    time.Time `parquet:"day,timestamp(microsecond)"`
	Amount *float64  `parquet:"amount,optional"`
	Open   bool      `parquet:"open"`
	Guests int32     `parquet:"guests"`
}

func writeParquet(t testing.TB) string {
	t.Helper()
	var all []sale
	for i := range 6 {
		amount := 100 + float64(i)/4
		s := sale{Shop: "a", Day: time.Date(2024, 2, 27+i%3, 0, 0, 0, 0, time.UTC), Amount: &amount, Open: i%2 == 0, Guests: int32(i)}
		if i > 2 {
			s.Shop = "b"
		}
		if i == 1 {
			s.Amount = nil
		}
		all = append(all, s)
	}
	var file bytes.Buffer
	if err := parquet.Write(&file, all); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sales.parquet")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A Parquet file is a table: its columns have roles, its timestamps are times, and what is null is missing.
func TestRead_Parquet(t *testing.T) {
	path := writeParquet(t)
	d := mustRead(t, Options{Observe: []string{"amount", "guests"}, Control: []string{"open"}, Time: "day", ID: "shop"}, path)
	if len(d.Episodes) != 2 || d.Spec.DT != 1 || d.TimeUnit != "day" || d.Episodes[1].Name != "b" {
		t.Fatalf("%d recordings, dt %v %s", len(d.Episodes), d.Spec.DT, d.TimeUnit)
	}
	equal(t, "mask", d.Episodes[0].Mask, []float32{1, 1, 0, 1, 1, 1})
	equal(t, "b", d.Episodes[1].Observations, []float32{100.75, 3, 101, 4, 101.25, 5})
	equal(t, "open", d.Episodes[0].Controls, []float32{0, 0, 1})
	o, err := Guess([]string{path}, Options{})
	if err != nil || o.Time != "day" || o.ID != "shop" || !strings.Contains(strings.Join(o.Observe, ","), "amount") {
		t.Errorf("guessed %+v, %v", o, err)
	}
	if math.IsNaN(d.Spec.DT) {
		t.Error("no time")
	}
}

// TestRead_ParquetClocks: times of the day, in each of their units, are those of a second column; a name of 16 bytes is
// one of letters.
func TestRead_ParquetClocks(t *testing.T) {
	type row struct {
		Who    [16]byte `parquet:"who,uuid"`
		Date   int32    `parquet:"date,date"`
		Milli  int32    `parquet:"milli,time(millisecond)"`
		Micro  int64    `parquet:"micro,time(microsecond)"`
		Nano   int64    `parquet:"nano,time(nanosecond)"`
		Amount float64  `parquet:"amount"`
	}
	var all []row
	for i := range 6 {
		at := time.Duration(i%3) * 8 * time.Hour
		all = append(all, row{
			[16]byte{0xff, 15: 7}, int32(19000 + i/3), int32(at.Milliseconds()), at.Microseconds(), at.Nanoseconds(), float64(i * i),
		})
	}
	var file bytes.Buffer
	if err := parquet.Write(&file, all); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(write(t, map[string]string{"a.parquet": file.String()}), "a.parquet")
	for _, clock := range []string{"milli", "micro", "nano"} {
		d := mustRead(t, Options{Observe: []string{"amount"}, Time: "date," + clock, ID: "who"}, path)
		e := d.Episodes[0]
		equal(t, clock, e.Observations, []float32{0, 1, 4, 9, 16, 25})
		if d.Spec.DT != 8 || d.TimeUnit != "h" || e.Name != "ff000000-0000-0000-0000-000000000007" {
			t.Errorf("%s: steps of %v %s, and the name is %q", clock, d.Spec.DT, d.TimeUnit, e.Name)
		}
		equal(t, "what follows", e.Times.Text(7), []string{"2022-01-10", "08:00:00"})
	}
}

// TestRead_ParquetDecimals: decimals of each kind are numbers with all their digits.
func TestRead_ParquetDecimals(t *testing.T) {
	wide := func(units int64) (b [9]byte) { // with a byte that only has the sign
		b[0] = byte(units >> 63)
		binary.BigEndian.PutUint64(b[1:], uint64(units))
		return b
	}
	type row struct {
		Short int32   `parquet:"y_short,decimal(2:9)"`
		Long  int64   `parquet:"y_long,decimal(3:18)"`
		Wide  [9]byte `parquet:"y_wide,decimal(4:20)"`
		Whole int32   `parquet:"y_whole,decimal(0:9)"`
	}
	var file bytes.Buffer
	if err := parquet.Write(&file, []row{{12345, -1, wide(-12345), 7}, {-5, 1_234_567_890_123, wide(3), -7}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(write(t, map[string]string{"a.parquet": file.String()}), "a.parquet")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := newParquetRows(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{
		{"y_short", "y_long", "y_wide", "y_whole"}, {"123.45", "-0.001", "-1.2345", "7"}, {"-0.05", "1234567890.123", "0.0003", "-7"},
	} {
		record, err := in.next()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "cells", record, want)
	}
}

// TestRead_ParquetFooter: the length of a directory takes no memory unless the file has it.
func TestRead_ParquetFooter(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"a.parquet": "PAR1\xff\xff\xff\xffPAR1"}), "a.parquet")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read([]string{path}, Options{})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrData) || took > 1<<20 {
		t.Errorf("%v, with %d bytes of memory", err, took)
	}
	if _, err := Read([]string{write(t, map[string]string{"a.parquet": "PAR"})}, Options{}); !errors.Is(err, ErrData) {
		t.Errorf("three bytes: %v", err)
	}
}

// Damaged files give an error and never a panic.
func TestRead_ParquetDamaged(t *testing.T) {
	path := writeParquet(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(whole); i += 3 {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x5a
		if i%2 == 0 {
			damaged = damaged[:i]
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		left := Options{Observe: []string{"amount"}, Limit: 1 << 20}
		if _, err := Read([]string{path}, left); err != nil && err.Error() == "" {
			t.Fatal("an error without words")
		}
	}
}
