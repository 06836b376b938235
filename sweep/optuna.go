package sweep

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// The operations of Optuna's journal (optuna/storages/journal/_storage.py) that are written here.
const (
	optunaCreateStudy  = 0
	optunaSystemAttr   = 3 // of a study
	optunaCreateTrial  = 4
	optunaParam        = 5
	optunaState        = 6
	optunaIntermediate = 7
	optunaUserAttr     = 8
)

// The states of a trial there.
const (
	optunaRunning  = 0
	optunaComplete = 1
	optunaPruned   = 2
	optunaFail     = 3
	optunaWaiting  = 4
)

// WriteOptuna writes the sweep as a journal of Optuna, which optuna-dashboard and optuna.storages.JournalStorage
// open. Trials are numbered from 0 there. A study of one metric has the values at the rungs as intermediate
// values. Optuna has no confirmations: these are trials with the user attribute confirms. Nor has it interrupted
// trials: they are waiting. The first error of w is returned.
func (s *State) WriteOptuna(w io.Writer, name string) error {
	o := &optunaWriter{w: json.NewEncoder(w), state: s}
	directions := make([]int, len(s.Spec.Metrics))
	names := make([]string, len(s.Spec.Metrics))
	for i, m := range s.Spec.Metrics {
		names[i] = m.Name
		if directions[i] = 1; m.Goal == Maximize {
			directions[i] = 2
		}
	}
	o.put(map[string]any{"op_code": optunaCreateStudy, "study_name": name, "directions": directions})
	o.put(map[string]any{
		"op_code": optunaSystemAttr, "study_id": 0,
		"system_attr": map[string]any{"study:metric_names": names},
	})
	for i, t := range s.Trials {
		o.trial(i, t)
	}
	return o.err
}

// optunaWriter writes operations, one JSON object on a line. After an error it writes nothing more.
type optunaWriter struct {
	w     *json.Encoder
	state *State
	err   error
}

// put writes an operation with the name of the worker that it is by, which Optuna wants of each.
func (o *optunaWriter) put(op map[string]any) {
	op["worker_id"] = "switchyard"
	if o.err == nil {
		o.err = o.w.Encode(op)
	}
}

// trial writes the operations that make trial t, from the state running to where it stands: its parameters, the
// values at its rungs, and its end.
func (o *optunaWriter) trial(id int, t *Trial) {
	s := o.state
	began := s.Began
	if !t.Runs[0].Began.IsZero() {
		began = t.Runs[0].Began
	}
	o.put(map[string]any{
		"op_code": optunaCreateTrial, "study_id": 0, "datetime_start": optunaTime(began),
		"state": optunaRunning,
	})
	for i := range s.Spec.Parameters {
		p := &s.Spec.Parameters[i]
		if value, ok := t.Settings.Get(p.Key); ok {
			distribution, internal := p.optuna(value)
			o.put(map[string]any{
				"op_code": optunaParam, "trial_id": id, "param_name": p.Key, "param_value_internal": internal,
				"distribution": distribution,
			})
		}
	}
	// Optuna takes intermediate values of studies with one objective alone.
	if len(s.Spec.Metrics) == 1 {
		for n := 1; n <= t.Reached(); n++ {
			v := s.Spec.Replicates.Aggregate.of(t.Values(s.Spec.Metrics[0].Name, n), s.Spec.Metrics[0].Goal)
			o.put(map[string]any{
				"op_code": optunaIntermediate, "trial_id": id, "step": t.step(n),
				"intermediate_value": v,
			})
		}
	}
	if t.Of > 0 {
		o.put(map[string]any{"op_code": optunaUserAttr, "trial_id": id, "user_attr": map[string]any{"confirms": t.Of - 1}})
	}
	o.end(id, t)
}

// end writes the state of a trial, if it is not running.
func (o *optunaWriter) end(id int, t *Trial) {
	op := map[string]any{"op_code": optunaState, "trial_id": id, "values": nil}
	switch t.Status {
	case StatusComplete:
		op["state"], op["values"] = optunaComplete, o.values(t)
	case StatusPruned:
		op["state"] = optunaPruned
		if len(o.state.Spec.Metrics) == 1 {
			op["values"] = o.values(t)
		}
	case StatusDiverged, StatusFailed:
		op["state"] = optunaFail
		o.put(map[string]any{
			"op_code": optunaUserAttr, "trial_id": id,
			"user_attr": map[string]any{"reason": string(t.Status) + ": " + t.Reason},
		})
	case StatusRunning:
		return
	default:
		op["state"] = optunaWaiting
	}
	op["datetime_complete"] = optunaTime(o.state.Ended)
	o.put(op)
}

// values are the metrics of a trial at its last rung, in the order of the spec.
func (o *optunaWriter) values(t *Trial) []float64 {
	var list []float64
	for _, m := range o.state.Spec.Metrics {
		v, _ := o.state.Value(t, m)
		list = append(list, v)
	}
	return list
}

// optunaTime is the form of datetime.isoformat, without a zone.
func optunaTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }

// optuna is the distribution of a parameter as Optuna writes it, and its representation of a value. Optuna has neither
// normal laws nor weights: a normal parameter is shown on the range of six standard deviations.
func (p *Parameter) optuna(value string) (distribution string, internal float64) {
	attributes := map[string]any{"low": p.Min, "high": p.Max, "log": p.logarithmic(), "step": nil}
	name := "FloatDistribution"
	x, err := strconv.ParseFloat(value, 64)
	switch {
	case p.Distribution == Categorical:
		i := max(p.Index(value), 0)
		choices := make([]any, len(p.Values))
		for i, v := range p.Values {
			choices[i] = optunaChoice(v)
		}
		name, attributes, x, err = "CategoricalDistribution", map[string]any{"choices": choices}, float64(i), nil
	case p.Distribution == IntUniform || p.Distribution == IntLog:
		name, attributes["low"], attributes["high"], attributes["step"] = "IntDistribution", int64(p.Min), int64(p.Max), 1
	case p.Distribution == QUniform:
		low, high := p.multiples()
		attributes["step"], attributes["low"], attributes["high"] = p.Q, low*p.Q, high*p.Q
	case p.normal():
		low, high := p.Mu-6*p.Sigma, p.Mu+6*p.Sigma
		if p.Distribution == LogNormal || p.Distribution == QLogNormal {
			low, high = math.Exp(low), min(math.Exp(high), math.MaxFloat64) // JSON has no infinity
		}
		attributes["low"], attributes["high"] = low, high
	}
	if err != nil {
		x = 0
	}
	// Maps of strings, numbers and booleans can be encoded.
	text, err := json.Marshal(map[string]any{"name": name, "attributes": attributes})
	if err != nil {
		panic(fmt.Sprintf("sweep: encode the distribution of %s: %v", p.Key, err))
	}
	return string(text), x
}

// optunaChoice is a number or a truth value if the text is one, so that the dashboard sorts them.
func optunaChoice(text string) any {
	if v, err := strconv.ParseFloat(text, 64); err == nil && finite(v) {
		return v
	}
	if v, err := strconv.ParseBool(text); err == nil && len(text) > 1 {
		return v
	}
	return text
}
