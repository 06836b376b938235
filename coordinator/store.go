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
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// store writes checkpoints into a folder and keeps the last two and the best.
//
// A checkpoint is a safetensors file, step-N.safetensors, with the tensors of the layout followed by the optimiser's
// moments, "adam.m" and "adam.v" or "outer.velocity", and "gradient.levels" if gradients travel as integers, and a
// manifest, step-N.json, with its SHA-256. Each file is written under another name, synced and renamed,
// the manifest after the data, so that what is found under its own name is whole or detectably not. best.json is a copy
// of the best checkpoint's manifest.
type store struct {
	dir      string
	layout   []Tensor
	disk     disk.Disk
	identity string        // Config.Identity of the run
	data     string        // hash of its data set
	flush    func() error  // brings the log to the disk, which is ahead of every checkpoint
	kept     []retained    // the valid checkpoints that are not to be deleted, oldest first
	back     *rollbackNote // a rollback that is decided and not noted
	unnamed  uint64        // the best checkpoint, if best.json does not name it; 0: it does
}

// retained is a checkpoint that is kept, and with it the one that was the best then: a run that goes back to the first
// still has the second.
type retained struct{ step, best uint64 }

func newStore(d disk.Disk, dir string, layout []Tensor, size int) *store {
	if d == nil {
		d = disk.System()
	}
	if len(layout) == 0 {
		layout = []Tensor{{Name: "theta", Shape: []int{size}, Size: size}}
	}
	return &store{dir: dir, layout: layout, disk: d, flush: func() error { return nil }}
}

// write puts a checkpoint on disk, as the best one if it is. It fills in ParamsSHA256 and Path. If it fails, the
// checkpoints of before stay valid.
func (s *store) write(cp *Checkpoint, best bool) error {
	if err := disk.MakeFolder(s.disk, s.dir); err != nil {
		return fmt.Errorf("make checkpoint folder: %w", err)
	}
	if err := errors.Join(s.endRollback(), s.nameUnnamed()); err != nil {
		return err
	}
	cp.ParamsSHA256 = HashParameters(cp.Theta)
	man := manifest{
		Format: adamFormat, Run: cp.Run, Seed: cp.Seed, Term: cp.Term, Step: cp.Step, Parameters: len(cp.Theta), Blocks: len(cp.Levels),
		Identity: s.identity, Data: s.data,
		Validated: cp.Validated, BestStep: cp.BestStep, ParamsSHA256: cp.ParamsSHA256, File: stem(cp.Step) + dataSuffix,
	}
	if list := momentNames(cp.Moments); man.Blocks > 0 || !slices.Equal(list, adamMoments) {
		man.Format, man.Moments = manifestFormat, list
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
	if err := s.flush(); err != nil {
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
// is made up for, now or before the next checkpoint; otherwise keep would protect one and best.json name another.
func (s *store) resume(step, best uint64) error {
	s.keep(step, best)
	if best == 0 {
		return nil
	}
	if _, err := readCheckpoint(filepath.Join(s.dir, stem(best)+".json")); err != nil {
		return nil // best.json is no worse
	}
	s.unnamed = best
	return s.nameUnnamed()
}

// nameUnnamed makes best.json name what resume found it should.
func (s *store) nameUnnamed() error {
	if s.unnamed == 0 {
		return nil
	}
	err := s.nameBest(s.unnamed)
	if err == nil {
		s.unnamed = 0
	}
	return err
}

// nameBest makes best.json a copy of a checkpoint's manifest.
func (s *store) nameBest(step uint64) error {
	text, err := os.ReadFile(filepath.Join(s.dir, stem(step)+".json"))
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

// replace writes a file of the folder so that at any moment there is either the old one or the whole new one.
func (s *store) replace(name string, write func(io.Writer) error) error {
	return disk.Replace(s.disk, filepath.Join(s.dir, name), write)
}

// keep notes a valid checkpoint and the best step; the last two are wanted, and what was the best at each of them.
func (s *store) keep(step, best uint64) {
	s.kept = slices.DeleteFunc(s.kept, func(k retained) bool { return k.step == step })
	s.kept = append(s.kept, retained{step, best})
	if n := len(s.kept); n > 2 {
		s.kept = s.kept[n-2:]
	}
}

// prune deletes the checkpoints before the newest that are not wanted, and nothing else. Newer ones, which Restore did
// not accept, stay until they are overtaken. What it cannot delete costs room only; it goes on and returns the errors.
func (s *store) prune() error {
	newest := s.kept[len(s.kept)-1].step
	return s.remove(func(step uint64) bool {
		wanted := func(k retained) bool { return step == k.step || step == k.best }
		return step < newest && !slices.ContainsFunc(s.kept, wanted)
	})
}

// remove deletes the files of the checkpoints that are chosen, manifests first: data without one do not count.
func (s *store) remove(chosen func(step uint64) bool) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("delete old checkpoints: %w", err)
	}
	var errs []error
	for _, e := range entries { // ReadDir sorts: .json before .safetensors
		step, ok := stepOf(e.Name())
		if !ok || !e.Type().IsRegular() || !chosen(step) {
			continue
		}
		if err := s.disk.Remove(filepath.Join(s.dir, e.Name())); err != nil {
			errs = append(errs, fmt.Errorf("delete old checkpoint: %w", err))
		}
	}
	return errors.Join(errs...)
}

// stepOf returns the step of a file that write made, finished or not.
func stepOf(name string) (uint64, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(name, disk.Suffix), "step-")
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
	tensors := slices.Clone(layout)
	for i, m := range cp.Moments {
		tensors = append(tensors, Tensor{Name: m.Name, Shape: []int{size}, Offset: (i + 1) * size, Size: size})
	}
	if n := len(cp.Levels); n > 0 {
		tensors = append(tensors, Tensor{Name: "gradient.levels", Shape: []int{n}, Offset: (1 + len(cp.Moments)) * size, Size: n})
	}
	for _, t := range tensors {
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
	vectors := [][]float32{cp.Theta}
	for _, m := range cp.Moments {
		vectors = append(vectors, m.Values)
	}
	for _, x := range append(vectors, cp.Levels) {
		if _, err := w.Write(wire.FloatBytes(x)); err != nil {
			return 0, err
		}
	}
	return int64(8 + header.Len() + 4*size*(1+len(cp.Moments)) + 4*len(cp.Levels)), nil
}
