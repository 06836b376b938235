package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/switchyard-ml/switchyard/export"
)

// partLabel is the label of goroutines that says for which part of the program they work.
const partLabel = "part"

// As calls f as work of a part of the program. The goroutines that f starts, and those that these start, work for the
// same part. Parts tells them apart.
func As(part string, f func()) {
	pprof.Do(context.Background(), pprof.Labels(partLabel, part), func(context.Context) { f() })
}

// Profile writes a CPU profile of a call to w, and returns the processor time of the parts of the program in
// parts of all of it. The part "" is what works for nobody alone, such as the collection of garbage. A hundred
// samples are taken in a second of processor time; a call too short for one has no parts. A process profiles one
// call at a time.
func Profile(w io.Writer, call func() error) (map[string]float64, error) {
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		return nil, fmt.Errorf("profile the processor: %w", err)
	}
	err := call()
	pprof.StopCPUProfile()
	_, writeErr := w.Write(profile.Bytes())
	parts, partErr := parts(&profile)
	if err = errors.Join(err, writeErr, partErr); err != nil {
		return nil, err
	}
	return parts, nil
}

// parts reads a profile (profile.proto of pprof, gzipped) and returns the share of the time of each value of the
// label. Of the message Profile it reads the samples (field 2) and the table of words (field 6), to which the
// labels of samples point.
func parts(r io.Reader) (map[string]float64, error) {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	data, err := io.ReadAll(unzipped)
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", err)
	}
	var words []string
	var samples [][]byte
	err = export.Fields(data, func(number protowire.Number, _ uint64, text []byte) error {
		switch number {
		case 2:
			samples = append(samples, text)
		case 6:
			words = append(words, string(text))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Samples point to words, all of which have been read here.
	times, sum := map[string]float64{}, 0.0
	for _, s := range samples {
		part, nanoseconds, err := sample(s, words)
		if err != nil {
			return nil, err
		}
		times[part] += nanoseconds
		sum += nanoseconds
	}
	for part := range times {
		times[part] /= max(sum, 1)
	}
	return times, nil
}

// sample reads a sample: its values are a count and nanoseconds, and its labels are pairs of indices of words.
// part is empty without a label.
func sample(data []byte, words []string) (part string, nanoseconds float64, err error) {
	err = export.Fields(data, func(number protowire.Number, v uint64, text []byte) error {
		switch number {
		case 2: // Go writes a list of two as two fields
			nanoseconds = float64(v)
		case 3:
			var pair [2]uint64
			err := export.Fields(text, func(number protowire.Number, v uint64, _ []byte) error {
				if number == 1 || number == 2 {
					pair[number-1] = v
				}
				return nil
			})
			if err != nil || max(pair[0], pair[1]) >= uint64(len(words)) {
				return errors.Join(errProfile, err)
			}
			if words[pair[0]] == partLabel {
				part = words[pair[1]]
			}
		}
		return nil
	})
	return part, nanoseconds, err
}

// errProfile is returned for a label that points beyond the table of words.
var errProfile = errors.New("the profile is damaged")
