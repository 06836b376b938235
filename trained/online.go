package trained

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
)

// An Online has the model and buffers, a State what is known of one series. A series begins with several
// observations that are filtered together, again with each that comes; after that every observation costs one step
// of the model.

// Online filters series as they come, one observation at a time. A step costs the same however long a series is. It
// serves one goroutine at a time; its State belongs to a series. from, to and the slices are buffers of the last
// call.
type Online struct {
	run     *Run
	stepper model.Stepper
	dims    model.Dims
	from    model.Belief // of all series of a call
	to      model.Belief
	batch   model.Batch
	x, u    []float32
	pasts   [][][]float64 // the past of each state after the call
	mean    []float32
	sd      []float32
}

// State is what an Online knows of one series. The zero State is that of a series that has not begun. Slices that
// are exported belong to the state: a step overwrites them.
type State struct {
	Steps int // observations so far
	// Of is the recording of training whose scale the series has, where each has one of its own. Another series has the
	// one that Run.Measure gave it.
	Of string

	Mean, SD []float64 // of the latent state, given the state before; the first has no SD: NaN
	Weights  []float64 // of the base systems; NaN at the first observation
	Expected []float64 // what that state shows, in the units of the data
	Noise    []float64 // the deviation of an observation from it

	past [][]float64 // the last observations in the units of the data, as many as differences reach back, and this one

	first    model.Batch          // the first observations, until the first state is inferred from enough of them
	z        []float32            // that the next step goes on from
	measured *files.Normalisation // the scale of a series that training did not see
	switched []float32            // the switch that led there; nil after the first observation
	// held are the channels as they were last seen, 0 before that, in the units of the model, while no observation was
	// seen whole. nil: one was, or the model has bodies, each of which may be missing alone.
	held []float32
}

// Clone returns a state of its own with the same contents. What both share is never changed in place. The buffers
// to which a step appends are clipped, so that it allocates new ones.
func (s *State) Clone() State {
	c := *s
	for _, list := range []*[]float64{&c.Mean, &c.SD, &c.Weights, &c.Expected, &c.Noise} {
		*list = slices.Clone(*list)
	}
	c.past = slices.Clip(c.past)
	c.first.Observations, c.first.Controls = slices.Clip(c.first.Observations), slices.Clip(c.first.Controls)
	c.z, c.switched, c.held = slices.Clone(c.z), slices.Clone(c.switched), slices.Clone(c.held)
	return c
}

// storedState is a State in JSON.
type storedState struct {
	Steps                             int
	Of                                string `json:",omitempty"`
	Mean, SD, Weights                 []eval.Number
	Expected, Noise                   []eval.Number
	Past                              [][]eval.Number
	T                                 int                  // observations that the first state is inferred from
	First, FirstControls, Z, Switched []eval.Number        `json:",omitempty"`
	Held                              []eval.Number        `json:",omitempty"`
	Measured                          *files.Normalisation `json:",omitempty"`
}

// MarshalJSON writes all that a filter goes on from. What is not finite becomes null.
func (s *State) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedState{
		s.Steps, s.Of, eval.NumberList(s.Mean), eval.NumberList(s.SD), eval.NumberList(s.Weights),
		eval.NumberList(s.Expected),
		eval.NumberList(s.Noise), eval.NumberRows(s.past), s.first.T, eval.NumberList32(s.first.Observations),
		eval.NumberList32(s.first.Controls), eval.NumberList32(s.z), eval.NumberList32(s.switched),
		eval.NumberList32(s.held), s.measured,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote. Whether it fits a model, Online.Check says.
func (s *State) UnmarshalJSON(text []byte) error {
	var t storedState
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("read a state: %w", err)
	}
	*s = State{
		Steps: t.Steps, Of: t.Of, Mean: eval.Floats(t.Mean), SD: eval.Floats(t.SD), Weights: eval.Floats(t.Weights),
		Expected: eval.Floats(t.Expected), Noise: eval.Floats(t.Noise), z: eval.Floats32(t.Z), measured: t.Measured,
	}
	if len(t.Switched) > 0 { // nil until a switch led to the state
		s.switched = eval.Floats32(t.Switched)
	}
	if len(t.Held) > 0 { // nil if an observation was seen whole
		s.held = eval.Floats32(t.Held)
	}
	s.first.T, s.first.B = t.T, 1
	s.first.Observations, s.first.Controls = eval.Floats32(t.First), eval.Floats32(t.FirstControls)
	for _, row := range t.Past {
		s.past = append(s.past, eval.Floats(row))
	}
	return nil
}

// Check returns ErrSeries if a state that was read from elsewhere is not one of the model. It also completes the
// dimensions of the state, so that Step may be asked next.
func (o *Online) Check(s *State) error {
	d := o.dims
	begun := s.Steps > 0
	// Lengths that the model's dimensions ask for, and what the first steps are inferred from.
	fits := s.Steps >= 0 && (!begun || len(s.z) == d.NZ && len(s.Mean) == d.NZ) &&
		(len(s.switched) == 0 || len(s.switched) == d.Carried()) && (len(s.held) == 0 || len(s.held) == d.NX) &&
		s.first.T >= 0 && len(s.first.Observations) == s.first.T*d.NX && len(s.first.Controls) == s.first.T*d.NU
	for _, row := range s.past {
		fits = fits && len(row) == d.NX
	}
	if fits && begun && (s.Steps < o.stepper.Warmup() || len(s.switched) == 0) {
		fits = s.first.T == s.Steps
	}
	for _, list := range [][]float32{s.z, s.switched, s.held} {
		for _, v := range list {
			fits = fits && eval.Finite(float64(v))
		}
	}
	if !fits {
		return errState
	}
	s.first.NX, s.first.NU = d.NX, d.NU
	return o.run.CheckState(s)
}

// Online returns a filter for series as they come. It returns ErrUnable for a family that filters whole series
// only.
func (r *Run) Online() (*Online, error) {
	f, err := Ask(r, Steps)
	if err != nil {
		return nil, err
	}
	return &Online{run: r, stepper: f, dims: f.Dims()}, nil
}

// Observation is the next observation of a series. A NaN is missing; controls act since the last one, and none are
// zeros.
type Observation struct{ Values, Controls []float64 }

// Step filters the next observation of each of several series, all at once. No state may be there twice. The first
// observations of a series, as many as the model infers a first state from, are filtered again with each that
// comes. next[i] belongs to states[i]. A series that has begun costs one step of the model, all of these together.
// The first ErrSeries ends it before anything is filtered, and no state is another then.
func (o *Online) Step(states []*State, next []Observation) error {
	d := o.dims
	o.x, o.u = grow(o.x, len(states)*d.NX), grow(o.u, len(states)*d.NU)
	o.pasts = grow(o.pasts, len(states))
	for i, n := range next {
		var err error
		if o.pasts[i], err = o.scale(states[i], o.x[i*d.NX:(i+1)*d.NX], o.u[i*d.NU:(i+1)*d.NU], n); err != nil {
			return err
		}
	}
	for i, s := range states {
		s.past = o.pasts[i]
	}
	// Those that go on from a state are filtered as one batch; those that begin, each by itself.
	var together []int
	for i, s := range states {
		if s.Steps < o.stepper.Warmup() || s.switched == nil {
			o.begin(s, o.x[i*d.NX:(i+1)*d.NX], o.u[i*d.NU:(i+1)*d.NU])
		} else {
			together = append(together, i)
		}
	}
	if len(together) == 0 {
		return nil
	}
	o.from.Resize(len(together), d, true)
	o.batch.Resize(1, len(together), d.NX, d.NU)
	for row, i := range together {
		copy(o.from.Z[row*d.NZ:], states[i].z)
		copy(o.from.Switch[row*d.Carried():], states[i].switched)
		x := o.batch.Observations[row*d.NX:][:d.NX]
		copy(x, o.x[i*d.NX:])
		states[i].held = hold(x, states[i].held)
		copy(o.batch.Controls[row*d.NU:], o.u[i*d.NU:(i+1)*d.NU])
	}
	hide(&o.batch)
	o.stepper.Step(&o.to, &o.from, o.batch, model.Disturbance{})
	o.decode(&o.to)
	for row, i := range together {
		o.keep(states[i], row)
	}
	return nil
}

// scale writes an observation in the units of the model. Where training transformed the data, past are as many
// observations as differences reach back, and this one, for the state to keep.
func (o *Online) scale(s *State, x, u []float32, n Observation) (past [][]float64, err error) {
	if n.Controls == nil {
		n.Controls = make([]float64, o.dims.NU)
	}
	values := n.Values
	if o.run.transforms() {
		if len(values) != o.dims.NX {
			return nil, flatten(x, [][]float64{values}, o.dims.NX, files.Scale{}, "observations")
		}
		past = append(s.past[max(0, len(s.past)-o.run.lag()):len(s.past):len(s.past)], values)
		changed, err := o.run.transformed(past)
		if err != nil {
			return nil, err
		}
		values = changed[len(changed)-1]
	}
	own, err := o.as(s)
	if err != nil {
		return nil, err
	}
	if err := flatten(x, [][]float64{values}, o.dims.NX, own.scale.Observations, "observations"); err != nil {
		return nil, err
	}
	controls := [][]float64{n.Controls}
	if s.Steps > 0 {
		return past, flatten(u, controls, o.dims.NU, own.scale.Controls, "controls")
	}
	first, err := own.acted(o.dims, controls, 1)
	copy(u, first)
	return past, err
}

// hide marks what is missing. A NaN among the observations becomes 0 there and in the mask; without any the mask
// is nil.
func hide(b *model.Batch) {
	b.Seen = nil
	for i, v := range b.Observations {
		if !math.IsNaN(float64(v)) {
			continue
		}
		if b.Seen == nil {
			b.Seen = slices.Repeat([]float32{1}, len(b.Observations))
		}
		b.Seen[i], b.Observations[i] = 0, 0
	}
}

// hold completes an observation of a series of which none was seen whole so far by what was last seen, as
// model.Batch.Measured does, unless nothing of it was seen. It returns what was last seen then: nil once one is whole.
func hold(x, held []float32) []float32 {
	if held == nil {
		return nil
	}
	missing := 0
	for c, v := range x {
		if math.IsNaN(float64(v)) {
			missing++
		} else {
			held[c] = v
		}
	}
	switch missing {
	case 0:
		return nil
	case len(x):
		return held
	}
	copy(x, held)
	return held
}

// begin filters a series from its beginning, with one observation more. It runs the filter from the first
// observation, as the first state is inferred from several of them.
func (o *Online) begin(s *State, x, u []float32) {
	d := o.dims
	if s.Steps == 0 {
		s.first = model.Batch{B: 1, NX: d.NX, NU: d.NU}
		u = make([]float32, d.NU) // it acted before the series
	}
	s.first.T++
	s.first.Observations, s.first.Controls = append(s.first.Observations, x...), append(s.first.Controls, u...)
	first, rest := s.first, s.first
	first.Observations, rest.Observations = slices.Clone(first.Observations), slices.Clone(rest.Observations)
	hide(&first)
	o.stepper.Begin(&o.to, first)
	s.held = nil
	if d.Switches() == 1 {
		s.held = make([]float32, d.NX)
	}
	for t := range rest.T {
		s.held = hold(rest.Observations[t*d.NX:][:d.NX], s.held)
	}
	hide(&rest)
	for t := 1; t < rest.T; t++ {
		// What one step wrote is where the next begins.
		o.from, o.to = o.to, o.from
		o.stepper.Step(&o.to, &o.from, rest.Steps(t, t+1), model.Disturbance{})
	}
	o.decode(&o.to)
	o.keep(s, 0)
	if s.Steps >= o.stepper.Warmup() && s.switched != nil {
		s.first = model.Batch{}
	}
}

// decode computes what the states of a belief show. They are in the units of the model.
func (o *Online) decode(b *model.Belief) {
	o.mean, o.sd = grow(o.mean, b.B*o.dims.NX), grow(o.sd, b.B*o.dims.NX)
	o.stepper.Emit(o.mean, o.sd, b.Mean)
}

// keep writes a row of the belief to a state. Expected and Noise are taken to the units of the data.
func (o *Online) keep(s *State, row int) {
	d := o.dims
	s.Steps++
	s.z = append(s.z[:0], o.to.Z[row*d.NZ:(row+1)*d.NZ]...)
	if len(o.to.Switch) > 0 {
		s.switched = append(s.switched[:0], o.to.Switch[row*d.Carried():(row+1)*d.Carried()]...)
	}
	s.Mean, s.SD, s.Weights = grow(s.Mean, d.NZ), grow(s.SD, d.NZ), grow(s.Weights, d.M)
	for i := range d.NZ {
		s.Mean[i], s.SD[i] = float64(o.to.Mean[row*d.NZ+i]), math.Sqrt(float64(o.to.Variance[row*d.NZ+i]))
	}
	for i := range d.M {
		s.Weights[i] = float64(o.to.Weights[row*d.M+i])
	}
	if len(o.to.Switch) == 0 { // the first state is a draw, and nothing switched there
		unknown(s.SD)
		unknown(s.Weights)
	}
	own, err := o.as(s)
	if err != nil {
		return // scale said so
	}
	s.Expected = own.scaled(o.mean[row*d.NX:(row+1)*d.NX], d.NX)[0]
	s.Noise = own.deviations(o.sd[row*d.NX:(row+1)*d.NX], d.NX)[0]
	if !o.run.transforms() {
		return
	}
	s.Expected = o.run.undone([][]float64{s.Expected}, s.past[:len(s.past)-1])[0]
	for c := range s.Noise {
		if o.run.transform(c).Log { // of first order
			s.Noise[c] *= s.Expected[c]
		}
	}
}

// unknown marks values that the model says nothing of.
func unknown(list []float64) {
	for i := range list {
		list[i] = math.NaN()
	}
}

// grow is a slice of length n, in the memory of x if that is large enough; the contents are undefined.
func grow[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// Sizes are the dimensions of the model, and the number of paths of a forecast that names none.
func (r *Run) Sizes() (d model.Dims, paths int, err error) {
	f, err := r.Forecaster()
	if err != nil {
		return d, 0, fmt.Errorf("open the model: %w", err)
	}
	return f.Dims(), r.config.Eval.Samples, nil
}

// Dims are the numbers of observed channels and controls of the model.
func (r *Run) Dims() (observations, controls int, err error) {
	f, err := r.Forecaster()
	if err != nil {
		return 0, 0, fmt.Errorf("open the model: %w", err)
	}
	return f.Dims().NX, f.Dims().NU, nil
}
