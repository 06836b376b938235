package files

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files/array"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// canonicalMagic begins the canonical encoding. Its number is the version.
const canonicalMagic = "switchyard data 1\n"

// maxCanonicalHeader is the largest description in an encoding, in bytes; an episode takes about twenty.
const maxCanonicalHeader = 1 << 28

// canonicalHeader describes a data set without its values. Names of recordings, times and sources are not part of
// it, nor are Levels.
type canonicalHeader struct {
	Observation      int              `json:"observation"`
	Control          int              `json:"control"`
	State            int              `json:"state"`
	Labels           []string         `json:"labels,omitempty"`
	DT               float64          `json:"dt"`
	Image            [3]int           `json:"image"`
	ObservationNames []string         `json:"observation_names,omitempty"`
	ControlNames     []string         `json:"control_names,omitempty"`
	StateNames       []string         `json:"state_names,omitempty"`
	TimeUnit         string           `json:"time_unit,omitempty"`
	Origins          []float64        `json:"origins,omitempty"`
	Transforms       []Transform      `json:"transforms,omitempty"`
	Episodes         []canonicalEntry `json:"episodes"`
}

// canonicalEntry describes an episode: its steps and part, and whether a mask and modes follow its signals.
type canonicalEntry struct {
	Steps  int  `json:"t"`
	Part   Part `json:"p"`
	Masked bool `json:"m,omitempty"`
	Modes  bool `json:"z,omitempty"`
}

// Encode writes the canonical encoding, all of it little-endian:
//
//	the line of canonicalMagic, with the version
//	the length of the description, 4 bytes
//	the description, JSON
//	for each episode of T steps:
//	    observations, controls, states, labels, mask     float32, T rows each
//	    modes                                            int32, T of them
//
// Equal data sets have equal encodings, wherever they were read from. An absent mask and absent modes take no bytes.
func (d *Dataset) Encode(w io.Writer) error {
	s := d.Spec
	h := canonicalHeader{
		Observation: s.Observation, Control: s.Control, State: s.State, Labels: s.Labels, DT: s.DT, Image: d.Image,
		ObservationNames: d.ObservationNames, ControlNames: d.ControlNames, StateNames: d.StateNames,
		TimeUnit: d.TimeUnit, Origins: d.Origins, Transforms: d.Transforms,
	}
	for i := range d.Episodes {
		e := &d.Episodes[i]
		h.Episodes = append(h.Episodes, canonicalEntry{e.T, e.Part, e.Mask != nil, e.Modes != nil})
	}
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("encode the data: %w", err)
	}
	out := bufio.NewWriter(w)
	out.WriteString(canonicalMagic) // Flush returns the first error
	out.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(text))))
	out.Write(text)
	for i := range d.Episodes {
		e := &d.Episodes[i]
		for _, data := range [][]float32{e.Observations, e.Controls, e.States, e.Labels, e.Mask} {
			array.WriteFloat32s(out, data) // Flush returns the first error
		}
		for _, z := range e.Modes {
			out.Write(binary.LittleEndian.AppendUint32(nil, uint32(z)))
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("encode the data: %w", err)
	}
	return nil
}

// Bytes returns the canonical encoding.
func (d *Dataset) Bytes() ([]byte, error) {
	var b bytes.Buffer
	err := d.Encode(&b)
	return b.Bytes(), err
}

// Hash is the SHA-256 of the canonical encoding, in hexadecimal: it identifies the data of a run. It takes time
// linear in their size.
func (d *Dataset) Hash() (string, error) {
	h := sha256.New()
	if err := d.Encode(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Decode reads a canonical encoding. Every length is compared with the existing bytes before memory is allocated.
// The content is checked like that of a file. The result owns its memory. Errors are *Error without a file.
func Decode(data []byte) (*Dataset, error) {
	rest, ok := bytes.CutPrefix(data, []byte(canonicalMagic))
	if !ok || len(rest) < 4 {
		return nil, faultf("", "", "it is no encoded data set")
	}
	n := binary.LittleEndian.Uint32(rest)
	rest = rest[4:]
	if n > maxCanonicalHeader || int64(n) > int64(len(rest)) {
		return nil, faultf("", "", "its description of %d bytes is cut off", n)
	}
	// The description bounds the dimensions; that the values are there is asked episode by episode.
	var h canonicalHeader
	if err := json.Unmarshal(rest[:n], &h); err != nil {
		return nil, &Error{Problem: "its description cannot be read", cause: err}
	}
	if h.Observation < 1 || h.Control < 0 || h.State < 0 {
		return nil, faultf("", "", "it has %d observations, %d controls and %d states", h.Observation, h.Control, h.State)
	}
	// Either the pixels of an image are the observations, or there is no image at all.
	if hw, err := array.Bytes(h.Image[:], 1); err != nil || hw != 0 && hw != int64(h.Observation) || hw == 0 &&
		h.Image != [3]int{} {
		return nil, faultf("", "", "images of %v for %d observations", h.Image, h.Observation)
	}
	d := &Dataset{
		Spec: envs.Spec{
			Name: "files", Observation: h.Observation, Control: h.Control, State: h.State, Labels: h.Labels,
			DT: h.DT,
		},
		Image: h.Image, ObservationNames: h.ObservationNames, ControlNames: h.ControlNames, StateNames: h.StateNames,
		TimeUnit: h.TimeUnit, Origins: h.Origins, Transforms: h.Transforms,
	}
	body := &canonicalBody{rest: rest[n:]}
	for i, entry := range h.Episodes {
		d.Episodes = append(d.Episodes, body.episode(d.Spec, entry, i))
		if body.err != nil {
			return nil, body.err
		}
	}
	// Bytes behind the end would give one data set several encodings.
	if len(body.rest) > 0 {
		return nil, faultf("", "", "%d bytes follow the last episode", len(body.rest))
	}
	if err := d.checkNames(); err != nil {
		return nil, err
	}
	return d, d.check()
}

// checkNames compares the numbers of names and channels.
func (d *Dataset) checkNames() error {
	for _, n := range []struct {
		names []string
		want  int
	}{{d.ObservationNames, d.Spec.Observation}, {d.ControlNames, d.Spec.Control}, {d.StateNames, d.Spec.State}} {
		if n.names != nil && len(n.names) != n.want {
			return faultf("", "", "%d names for %s", len(n.names), terminal.Count(n.want, "channel"))
		}
	}
	if d.Origins != nil && len(d.Origins) != d.Spec.Observation || d.Transforms != nil &&
		len(d.Transforms) != d.Spec.Observation {
		return faultf("", "", "%d origins and %d transforms for %s", len(d.Origins), len(d.Transforms),
			terminal.Count(d.Spec.Observation, "channel"))
	}
	return nil
}

// canonicalBody is the part of an encoding that is not read yet. Once err is set, its methods read nothing.
type canonicalBody struct {
	rest []byte
	err  error
}

// episode reads episode i in the order of Encode. A mask of other values than 0 and 1, and an unknown part, are
// faults.
func (b *canonicalBody) episode(s envs.Spec, entry canonicalEntry, i int) Episode {
	e := Episode{Part: entry.Part, Source: fmt.Sprintf("episode %d", i)}
	e.T = entry.Steps
	if e.Part < Unassigned || e.Part > Test {
		b.err = faultf(e.Source, "", "part %d is unknown", e.Part)
	}
	e.Observations = b.floats(entry.Steps, s.Observation)
	e.Controls = b.floats(entry.Steps, s.Control)
	e.States = b.floats(entry.Steps, s.State)
	e.Labels = b.floats(entry.Steps, len(s.Labels))
	if entry.Masked {
		e.Mask = b.floats(entry.Steps, s.Observation)
		for _, m := range e.Mask {
			if m != 0 && m != 1 {
				b.err = faultf(e.Source, "", "its mask holds %v", m)
			}
		}
	}
	if entry.Modes {
		raw := b.take(entry.Steps, 1)
		for j := 0; j < len(raw); j += 4 {
			e.Modes = append(e.Modes, int32(binary.LittleEndian.Uint32(raw[j:])))
		}
	}
	return e
}

// take returns the bytes of the next steps·width values, four bytes each.
func (b *canonicalBody) take(steps, width int) []byte {
	size, err := array.Bytes([]int{steps, width}, 4)
	if b.err == nil && (err != nil || size > int64(len(b.rest))) {
		b.err = faultf("", "fetch it again", "it ends too early")
	}
	if b.err != nil {
		return nil
	}
	part := b.rest[:size]
	b.rest = b.rest[size:]
	return part
}

// floats are the next values [steps, width]; nil if there are none.
func (b *canonicalBody) floats(steps, width int) []float32 {
	raw := b.take(steps, width)
	if len(raw) == 0 {
		return nil
	}
	data := make([]float32, len(raw)/4)
	for i := range data {
		data[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return data
}
