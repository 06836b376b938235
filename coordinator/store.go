package coordinator

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// store writes checkpoints into a folder and keeps the last two and the best.
//
// A checkpoint is a safetensors file, step-N.safetensors, with the tensors of the layout followed by "adam.m" and
// "adam.v", and a manifest, step-N.json, with its SHA-256. Each file is written under another name, synced and renamed,
// the manifest after the data, so that what is found under its own name is whole or detectably not. best.json is a copy
// of the best checkpoint's manifest.
type store struct {
	dir    string
	layout []Tensor
	kept   []uint64 // steps of the valid checkpoints that are not to be deleted, oldest first
	best   uint64
	// create opens a file for writing; a test makes it fail.
	create func(name string) (file, error)
	// sync makes the entries of a folder survive a crash of the machine; a test listens.
	sync func(dir string) error
}

type file interface {
	io.WriteCloser
	Sync() error
}

func newStore(dir string, layout []Tensor, size int) *store {
	if len(layout) == 0 {
		layout = []Tensor{{Name: "theta", Shape: []int{size}, Size: size}}
	}
	return &store{
		dir: dir, layout: layout, create: func(name string) (file, error) { return os.Create(name) }, sync: syncFolder,
	}
}

// write puts a checkpoint on disk, as the best one if it is. It fills in ParamsSHA256 and Path. If it fails, the checkpoints of before stay valid.
func (s *store) write(cp *Checkpoint, best bool) error {
	if err := s.makeFolder(s.dir); err != nil {
		return fmt.Errorf("make checkpoint folder: %w", err)
	}
	cp.ParamsSHA256 = HashParameters(cp.Theta)
	man := manifest{
		Format: manifestFormat, Run: cp.Run, Seed: cp.Seed, Term: cp.Term, Step: cp.Step, Parameters: len(cp.Theta),
		Validated: cp.Validated, BestStep: cp.BestStep, ParamsSHA256: cp.ParamsSHA256, File: stem(cp.Step) + dataSuffix,
	}
	if !math.IsInf(cp.BestLoss, 0) {
		man.BestLoss = &cp.BestLoss
	}
	err := s.replace(man.File, func(w io.Writer) error {
		h := sha256.New()
		n, err := writeTensors(io.MultiWriter(w, h), s.layout, cp)
		man.Bytes, man.SHA256 = n, hexSum(h)
		return err
	})
	if err != nil {
		return fmt.Errorf("write checkpoint of step %d: %w", cp.Step, err)
	}
	text, err := json.MarshalIndent(man, "", "  ")
	if err != nil {
		return fmt.Errorf("write checkpoint of step %d: %w", cp.Step, err)
	}
	names := []string{stem(cp.Step) + ".json"}
	if best {
		names = append(names, bestManifest)
	}
	for _, name := range names {
		err := s.replace(name, func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
		if err != nil {
			return fmt.Errorf("write checkpoint of step %d: %w", cp.Step, err)
		}
	}
	cp.Path = filepath.Join(s.dir, names[0])
	s.keep(cp.Step, cp.BestStep)
	return nil
}

// resume continues after a checkpoint. If the best one was written and the program ended before best.json named it, that
// is made up for; otherwise keep would protect one checkpoint and best.json name another.
func (s *store) resume(step, best uint64) error {
	s.keep(step, best)
	if best == 0 {
		return nil
	}
	path := filepath.Join(s.dir, stem(best)+".json")
	if _, err := readCheckpoint(path); err != nil {
		return nil // best.json is no worse
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("name best checkpoint: %w", err)
	}
	if old, err := os.ReadFile(filepath.Join(s.dir, bestManifest)); err == nil && bytes.Equal(old, text) {
		return nil
	}
	err = s.replace(bestManifest, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return fmt.Errorf("name best checkpoint: %w", err)
	}
	return nil
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// replace writes a file so that at any moment there is either the old one or the whole new one.
func (s *store) replace(name string, write func(io.Writer) error) (err error) {
	path := filepath.Join(s.dir, name)
	temp := path + ".tmp"
	f, err := s.create(temp)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(temp)
		}
	}()
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err = os.Rename(temp, path); err != nil {
		return err
	}
	return s.sync(s.dir)
}

// makeFolder makes a folder and what is missing above it, so that they are there after a crash of the machine.
func (s *store) makeFolder(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := s.makeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.sync(parent)
}

// keep notes a valid checkpoint and the best step; the last two and the best are wanted.
func (s *store) keep(step, best uint64) {
	s.kept = slices.DeleteFunc(s.kept, func(k uint64) bool { return k == step })
	s.kept = append(s.kept, step)
	if n := len(s.kept); n > 2 {
		s.kept = s.kept[n-2:]
	}
	s.best = best
}

// prune deletes the checkpoints before the newest that are not wanted, and nothing else. Newer ones, which Restore did
// not accept, stay until they are overtaken. What it cannot delete costs room only; it goes on and returns the errors.
func (s *store) prune() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("delete old checkpoints: %w", err)
	}
	newest := s.kept[len(s.kept)-1]
	var errs []error
	for _, e := range entries {
		step, ok := stepOf(e.Name())
		if !ok || !e.Type().IsRegular() || step >= newest || step == s.best || slices.Contains(s.kept, step) {
			continue
		}
		if err := os.Remove(filepath.Join(s.dir, e.Name())); err != nil {
			errs = append(errs, fmt.Errorf("delete old checkpoint: %w", err))
		}
	}
	return errors.Join(errs...)
}

// stepOf returns the step of a file that write made, finished or not.
func stepOf(name string) (uint64, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(name, ".tmp"), "step-")
	if !ok {
		return 0, false
	}
	digits, suffix, _ := strings.Cut(rest, ".")
	step, err := strconv.ParseUint(digits, 10, 64)
	return step, err == nil && (suffix == "json" || "."+suffix == dataSuffix)
}

// writeTensors writes the safetensors format: eight bytes of header length, a JSON header that says type, shape and
// place of each tensor, padded with blanks to a multiple of eight, and the tensors' bytes.
func writeTensors(w io.Writer, layout []Tensor, cp *Checkpoint) (int64, error) {
	size := len(cp.Theta)
	var header strings.Builder
	header.WriteString(`{"__metadata__":{"format":"switchyard","step":"` + strconv.FormatUint(cp.Step, 10) + `"}`)
	entry := func(name string, shape []int, offset, size int) error {
		quoted, err := json.Marshal(name)
		if err != nil {
			return err
		}
		dims := strings.ReplaceAll(fmt.Sprint(shape), " ", ",")
		fmt.Fprintf(&header, `,%s:{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, quoted, dims, 4*offset, 4*(offset+size))
		return nil
	}
	moments := []Tensor{
		{Name: "adam.m", Shape: []int{size}, Offset: size, Size: size},
		{Name: "adam.v", Shape: []int{size}, Offset: 2 * size, Size: size},
	}
	for _, t := range slices.Concat(layout, moments) {
		if err := entry(t.Name, t.Shape, t.Offset, t.Size); err != nil {
			return 0, err
		}
	}
	header.WriteString("}")
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(header.Len()))); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(w, header.String()); err != nil {
		return 0, err
	}
	for _, x := range [][]float32{cp.Theta, cp.M, cp.V} {
		if _, err := w.Write(wire.FloatBytes(x)); err != nil {
			return 0, err
		}
	}
	return int64(8 + header.Len() + 12*size), nil
}
