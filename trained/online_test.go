package trained

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
)

// reader is a Stepper that keeps what it is given to read at each step, NaN where it is told that nothing was seen.
type reader struct {
	model.Stepper
	dims model.Dims
	read [][]float32
}

func (r *reader) Warmup() int { return 2 }

func (r *reader) Begin(dst *model.Belief, first model.Batch) { dst.Resize(first.B, r.dims, false) }

func (r *reader) Step(dst, _ *model.Belief, b model.Batch, _ model.Disturbance) {
	dst.Resize(b.B, r.dims, true)
	row := slices.Clone(b.Observations)
	for i := range row {
		if b.Seen != nil && b.Seen[i] == 0 {
			row[i] = float32(math.NaN())
		}
	}
	r.read = append(r.read, row)
}

func (r *reader) Emit(mean, sd, _ []float32) {
	clear(mean)
	clear(sd)
}

// TestOnline_ChannelsMeasuredInTurn: channels are read as they were last seen until an observation is seen whole, also
// if the state is stored in between; with bodies, each of which may be missing alone, they are not.
func TestOnline_ChannelsMeasuredInTurn(t *testing.T) {
	nan := math.NaN()
	series := [][]float64{{1, nan}, {nan, 2}, {3, nan}, {nan, nan}, {nan, 4}, {5, 6}, {7, nan}}
	for bodies, want := range map[int][][]float64{
		0: {{1, 2}, {3, 2}, {nan, nan}, {3, 4}, {5, 6}, {7, nan}},
		2: {{nan, 2}, {3, nan}, {nan, nan}, {nan, 4}, {5, 6}, {7, nan}},
	} {
		d := model.Dims{NX: 2, NZ: 2, M: 2, Bodies: bodies}
		f := &reader{dims: d}
		o := &Online{run: &Run{scale: files.Normalisation{}}, stepper: f, dims: d}
		var s State
		for _, x := range series {
			if err := o.Step([]*State{&s}, []Observation{{Values: x}}); err != nil {
				t.Fatal(err)
			}
			if s.first.T > 0 {
				continue
			}
			text, err := json.Marshal(&s)
			if err != nil {
				t.Fatal(err)
			}
			s = State{}
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprint(f.read); got != fmt.Sprint(want) {
			t.Errorf("%d bodies read %v, want %v", bodies, got, want)
		}
	}
}
