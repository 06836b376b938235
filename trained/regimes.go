package trained

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/envs/files/array"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/store"
)

// Regimes returns which regimes a model that fits itself has found in its recordings, and the recording of each of
// their steps and its place there. It is empty for other models, and where regimes were not kept. own are the
// recordings of a run that did not simulate them. The three lists have an element for each step of the training
// recordings, one recording after the other.
func (r *Run) Regimes(own *eval.Recordings) (regimes model.Regimes, recording, step []int64, err error) {
	m, ok := r.model.(model.Remembering)
	if !ok || r.env == nil && own == nil {
		return model.Regimes{}, nil, nil, nil
	}
	var lengths []int
	add := func(number, length int) {
		lengths = append(lengths, length)
		for t := range length {
			recording, step = append(recording, int64(number)), append(step, int64(t))
		}
	}
	if own != nil {
		for _, i := range own.Split.Training {
			add(i, own.Set.Episodes[i].T)
		}
	} else {
		for i := range r.config.Env.Episodes {
			add(i, r.config.Env.Length)
		}
	}
	if regimes, err = m.Regimes(lengths); err != nil {
		return model.Regimes{}, nil, nil, fmt.Errorf("read the regimes of the recordings: %w", err)
	}
	return regimes, recording, step, nil
}

// writeRegimes writes regimes.npz to a folder: probability and spread [N,K] over all steps of the training recordings,
// regime [N], the most likely one, and recording [N] and step [N], where the row belongs. It writes nothing for a
// model that keeps none.
func (r *Run) writeRegimes(own *eval.Recordings, dir string) error {
	found, recording, step, err := r.Regimes(own)
	if err != nil || found.K == 0 {
		return err
	}
	var file bytes.Buffer
	w := array.NewArchiveWriter(&file)
	// The first fault is kept; what follows it is of no use.
	add := func(name string, t array.Type, shape []int, write func(io.Writer) error) {
		entry, fault := w.Array(name)
		if fault == nil {
			fault = errors.Join(array.WriteHeader(entry, t, shape), write(entry))
		}
		err = errors.Join(err, fault)
	}
	n := len(step)
	floats := func(name string, values []float32) {
		add(name, array.Float32, []int{n, found.K}, func(w io.Writer) error { return array.WriteFloat32s(w, values) })
	}
	ints := func(name string, values []int64) {
		add(name, array.Int64, []int{n}, func(w io.Writer) error { return array.WriteInts(w, values) })
	}
	floats("probability", found.Probability)
	floats("spread", found.Spread)
	ints("regime", mostLikely(found))
	ints("recording", recording)
	ints("step", step)
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("write the regimes of the recordings: %w", err)
	}
	return store.WriteFile(filepath.Join(dir, "regimes.npz"), file.Bytes())
}

// mostLikely is the regime of the largest probability of each step, the first of equal ones.
func mostLikely(r model.Regimes) []int64 {
	best := make([]int64, len(r.Probability)/r.K)
	for t := range best {
		row := r.Probability[t*r.K : (t+1)*r.K]
		for k, p := range row {
			if p > row[best[t]] {
				best[t] = int64(k)
			}
		}
	}
	return best
}
