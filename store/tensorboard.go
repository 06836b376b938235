package store

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/setting"
)

// Folder is where TensorBoard's files lie in the folder of a run. Each split has a folder in it.
const Folder = "tb"

// Field numbers of tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto.
const (
	eventTime, eventStep, eventVersion, eventSummary = 1, 2, 3, 5

	summaryValue           = 1
	valueTag, valueScalar  = 1, 2
	version                = "brain.Event:2"
	maskShift, maskSummand = 15, 0xa282ead8
)

// TensorBoard writes the metrics of the named run of a folder as event files below out: a folder for each split, which
// TensorBoard shows as a run, with one file. It returns the files. What the run has there from before is replaced, but
// not if its metrics are damaged or gone; in a folder that is not its own, event files of others are ErrEvents. A run
// in progress may be written: its event files have what it has recorded so far. In its own folder that is ErrHeld, as
// it writes there itself.
func TensorBoard(dir, name, out string) (files []string, err error) {
	info, err := Load(dir, name)
	if err != nil {
		return nil, err
	}
	own := sameFolder(out, filepath.Join(dir, name, Folder))
	if own && info.State == Running {
		return nil, fmt.Errorf("write event files: %w: %s", ErrHeld, out)
	}
	splits, err := splitsOf(dir, name)
	if err != nil || len(splits) == 0 {
		return nil, err
	}
	boards := map[string]*board{}
	// The name is that of this run alone: several may have begun within a second.
	file := fmt.Sprintf("events.out.tfevents.%d.switchyard.%d", info.Started.Unix(), info.Started.Nanosecond())
	if err := removeOld(out, file, own); err != nil {
		return nil, err
	}
	defer func() {
		for _, split := range slices.Sorted(maps.Keys(boards)) {
			if closing := boards[split].close(); closing != nil && err == nil {
				err = fmt.Errorf("write event files: %w", closing)
			}
		}
	}()
	err = ReadMetrics(dir, name, func(r Record) error {
		if !splits[r.Split] { // a new one, of a run in progress
			return nil
		}
		b := boards[r.Split]
		if b == nil {
			path := filepath.Join(out, r.Split, file)
			var err error
			if b, err = newBoard(path, r.Time); err != nil {
				return err
			}
			boards[r.Split], files = b, append(files, path)
		}
		return b.add(r)
	})
	if err != nil {
		return nil, fmt.Errorf("write event files: %w", err)
	}
	slices.Sort(files)
	return files, nil
}

// splitsOf are the splits of the records of a run, all of which can be read.
func splitsOf(dir, name string) (map[string]bool, error) {
	splits := map[string]bool{}
	err := ReadMetrics(dir, name, func(r Record) error {
		if splits[r.Split] {
			return nil
		}
		splits[r.Split] = true
		if err := setting.CheckRun(r.Split); err != nil { // a folder, and no way out of ours
			return fmt.Errorf("%w: %s: split %w", ErrDamaged, metricsFile, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("write event files: %w", err)
	}
	return splits, nil
}

// sameFolder reports whether two paths, however they are written, lead to one folder. It need not be there yet.
func sameFolder(one, other string) bool {
	if a, err := os.Stat(one); err == nil {
		b, err := os.Stat(other)
		return err == nil && os.SameFile(a, b)
	}
	a, errA := filepath.Abs(one)
	b, errB := filepath.Abs(other)
	return errA == nil && errB == nil && a == b
}

// removeOld removes the event files of the splits below a folder: all in a run's own folder, those of Live among them,
// and else those with the name of what is to be written. Others there are ErrEvents.
func removeOld(out, file string, own bool) error {
	old, err := fs.Glob(os.DirFS(out), "*/events.out.tfevents.*.switchyard*")
	if err != nil {
		return fmt.Errorf("look for event files: %w", err)
	}
	for _, p := range old {
		if !own && filepath.Base(p) != file {
			return fmt.Errorf("%s: %w", filepath.Join(out, p), ErrEvents)
		}
	}
	for _, p := range old {
		if err := disk.System().Remove(filepath.Join(out, p)); err != nil {
			return fmt.Errorf("replace event files: %w", err)
		}
	}
	return nil
}

// board is an event file that grows. What is added is in a buffer until Flush of to, or close.
type board struct {
	file disk.File
	to   *bufio.Writer
}

// newBoard makes an event file, and its folder. Every file begins with an event that names the version of the
// format.
func newBoard(path string, began time.Time) (*board, error) {
	if err := disk.MakeFolder(disk.System(), filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := disk.System().Create(path)
	if err != nil {
		return nil, err
	}
	b := &board{f, bufio.NewWriter(f)}
	first := protowire.AppendTag(at(began), eventVersion, protowire.BytesType)
	return b, writeRecord(b.to, protowire.AppendString(first, version))
}

// at begins an event. It has the time, as seconds since 1970.
func at(t time.Time) []byte {
	seconds := float64(t.UnixNano()) / 1e9
	return protowire.AppendFixed64(protowire.AppendTag(nil, eventTime, protowire.Fixed64Type), math.Float64bits(seconds))
}

// add writes the values of a record as one event. Values have single precision there.
func (b *board) add(r Record) error {
	var summary []byte
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		value := protowire.AppendString(protowire.AppendTag(nil, valueTag, protowire.BytesType), name)
		value = protowire.AppendTag(value, valueScalar, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(r.Values[name])))
		summary = protowire.AppendBytes(protowire.AppendTag(summary, summaryValue, protowire.BytesType), value)
	}
	event := protowire.AppendVarint(protowire.AppendTag(at(r.Time), eventStep, protowire.VarintType), r.Step)
	event = protowire.AppendBytes(protowire.AppendTag(event, eventSummary, protowire.BytesType), summary)
	return writeRecord(b.to, event)
}

// close writes what is in the buffer, and closes the file also after an error.
func (b *board) close() error {
	err := b.to.Flush()
	if closing := b.file.Close(); err == nil {
		err = closing
	}
	return err
}

// writeRecord writes a TFRecord: the length of the data, its masked checksum, the data, and theirs. All numbers are
// little-endian.
func writeRecord(w io.Writer, data []byte) error {
	record := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	record = binary.LittleEndian.AppendUint32(record, masked(record))
	record = append(record, data...)
	record = binary.LittleEndian.AppendUint32(record, masked(data))
	_, err := w.Write(record)
	return err
}

// masked is the CRC32C of a part of a TFRecord, rotated and shifted, as the format asks for.
func masked(data []byte) uint32 {
	crc := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (crc>>maskShift | crc<<(32-maskShift)) + maskSummand
}
