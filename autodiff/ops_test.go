package autodiff

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/rng"
)

// dot is the scalar Σ cᵢ·xᵢ with fixed coefficients, so that a test sees every element of an output.
func dot(t *Tape, x Tensor) Tensor {
	clearAll(x)
	y := t.New(1, 1)
	c := coefficients(len(x.Value))
	var sum float64
	for i, v := range x.Value {
		sum += float64(c[i]) * float64(v)
	}
	y.Value[0] = float32(sum)
	t.records = append(t.records, &dotRecord{x, y, c, sum})
	return y
}

type dotRecord struct {
	x, y  Tensor
	c     []float32
	exact float64
}

func (r *dotRecord) backward(*Tape) { kernel.AddScaled(r.x.Grad, r.y.Grad[0], r.c) }

func coefficients(n int) []float32 {
	c := make([]float32, n)
	draws := rng.New(99, rng.Evaluation).At(0, 0, 0)
	draws.Normals(c)
	return c
}

// opTest is one operation: leaves and weights of the given shapes, and a scalar function of them.
type opTest struct {
	name     string
	inputs   [][2]int
	positive []int // inputs that must be positive (variances)
	weights  [][2]int
	f        func(t *Tape, in []Tensor, w []*Weight) Tensor
	// value is what the operation computes from the inputs, in float64: the scalar, or what goes into dot. Nil where a
	// test of its own compares it.
	value func(in [][]float64) []float64
}

// opTests has a row for every operation, from the files of their tests.
var opTests = slices.Concat(modelTests, arithmeticTests, functionTests, sumTests, matMulTests, lstmTests, choleskyTests, convolutionTests, customTests, switchingTests, durationTests)

// setting holds the leaves and weights of an opTest.
type setting struct {
	test   opTest
	params *Params
	ws     []*Weight
	leaves []float32 // all leaves, one after another
}

func newSetting(test opTest) *setting {
	s := &setting{test: test, params: NewParams()}
	draws := rng.New(11, rng.Init).At(0, 0, 0)
	for i, shape := range test.weights {
		w := s.params.Matrix(test.name+string(rune('a'+i)), shape[0], shape[1])
		w.InitUniform(&draws, 1)
		s.ws = append(s.ws, w)
	}
	for i, shape := range test.inputs {
		positive := false
		for _, p := range test.positive {
			positive = positive || p == i
		}
		for range shape[0] * shape[1] {
			v := draws.Normal()
			if positive {
				v = 0.5 + draws.Float64()
			}
			s.leaves = append(s.leaves, float32(v))
		}
	}
	return s
}

// record evaluates the test's function on the tape, on leaves made by leaf, and returns these and its value.
func (s *setting) record(t *Tape, leaf func(rows, cols int) Tensor) ([]Tensor, Tensor) {
	s.params.Pack()
	t.Reset()
	in, rest := make([]Tensor, 0), s.leaves
	for _, shape := range s.test.inputs {
		x := leaf(shape[0], shape[1])
		copy(x.Value, rest)
		rest = rest[len(x.Value):]
		in = append(in, x)
	}
	return in, s.test.f(t, in, s.ws)
}

func (s *setting) loss(t *Tape) float64 {
	_, y := s.record(t, t.New)
	if d, ok := t.records[len(t.records)-1].(*dotRecord); ok {
		return d.exact
	}
	return float64(y.Value[0])
}

// TestGradients checks every operation against central differences, leaves and weights. Leaf
// gradients hold 1 beforehand: a rule that assigns instead of adding fails. Those of activations hold
// NaN: the same gradients must come out.
func TestGradients(t *testing.T) {
	for _, test := range opTests {
		t.Run(test.name, func(t *testing.T) {
			s := newSetting(test)
			tape := NewTape(s.params)
			activations, y := s.record(tape, func(rows, cols int) Tensor {
				x := tape.Activation(rows, cols)
				for i := range x.Grad {
					x.Grad[i] = undefined
				}
				return x
			})
			tape.Backward(y)
			var want []float32
			for _, x := range activations {
				x.settle()
				want = append(want, x.Grad...)
			}
			in, y := s.record(tape, tape.New)
			for _, x := range in {
				for i := range x.Grad {
					x.Grad[i] = 1
				}
			}
			tape.Backward(y)
			var leafGradient []float32
			for _, x := range in {
				for _, g := range x.Grad {
					leafGradient = append(leafGradient, g-1)
				}
			}
			for i, g := range leafGradient {
				if d := g - want[i]; !(d > -1e-3 && d < 1e-3) {
					t.Fatalf("leaf value %d: gradient %v, of an activation %v", i, g, want[i])
				}
			}
			weightGradient := append([]float32(nil), tape.Gradient...)
			scratch := NewTape(s.params)
			loss := func() float64 { return s.loss(scratch) }
			directions := rng.New(1, rng.Evaluation).At(0, 0, 0)
			leaves := GradCheck{Values: s.leaves, Gradient: leafGradient, Loss: loss, Directions: 5, Steps: []float64{2e-3, 5e-4}, Tolerance: 4e-3}
			if err := leaves.Run(directions.Normal); err != nil {
				t.Errorf("leaves: %v", err)
			}
			directions = rng.New(2, rng.Evaluation).At(0, 0, 0)
			weights := GradCheck{Values: s.params.Values, Gradient: weightGradient, Loss: loss, Directions: 5, Steps: []float64{2e-3, 5e-4}, Tolerance: 4e-3}
			if err := weights.Run(directions.Normal); err != nil {
				t.Errorf("weights: %v", err)
			}
		})
	}
}

// TestValues compares what operations compute with float64.
func TestValues(t *testing.T) {
	for _, test := range opTests {
		if test.value == nil {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			s := newSetting(test)
			tape := NewTape(s.params)
			in, y := s.record(tape, tape.New)
			if d, ok := tape.records[len(tape.records)-1].(*dotRecord); ok {
				y = d.x
			}
			var wide [][]float64
			for _, x := range in {
				wide = append(wide, widened(x.Value))
			}
			want := test.value(wide)
			if len(want) != len(y.Value) {
				t.Fatalf("%d values, want %d", len(y.Value), len(want))
			}
			for i, got := range y.Value {
				if !(math.Abs(float64(got)-want[i]) <= 2e-5*(1+math.Abs(want[i]))) {
					t.Errorf("value %d: got %v, want %v", i, got, want[i])
				}
			}
		})
	}
}

func widened(x []float32) []float64 {
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	return wide
}

// notOperations are methods of the tape that record nothing.
var notOperations = map[string]bool{
	"Reset": true, "Record": true, "Evaluate": true, "Bytes": true, "Backward": true, "New": true, "Activation": true, "Constant": true,
	"NewConstant": true, "Param": true, "Freeze": true, "Flops": true, "Err": true,
}

// TestEveryOperationIsChecked fails when an operation of the tape has no row in opTests.
func TestEveryOperationIsChecked(t *testing.T) {
	tape := reflect.TypeFor[*Tape]()
	for i := range tape.NumMethod() {
		name := tape.Method(i).Name
		if notOperations[name] {
			continue
		}
		found := false
		for _, test := range opTests {
			found = found || test.name == name || strings.HasPrefix(test.name, name+"/")
		}
		if !found {
			t.Errorf("operation %s has no row in opTests", name)
		}
	}
}

// TestHardSamples checks the straight-through forms: a one-hot or binary value with the gradient of
// the relaxed sample.
func TestHardSamples(t *testing.T) {
	tape := NewTape(NewParams())
	run := func(hard, binary bool) (value, grad []float32) {
		tape.Reset()
		x, y := tape.New(3, 4), tape.New(3, 4)
		copy(x.Value, coefficients(12))
		if binary {
			tape.BinaryConcrete(y, x, normalNoise(tape, 3, 4), 0.7, hard)
		} else {
			tape.Concrete(y, x, normalNoise(tape, 3, 4), 0.7, hard)
		}
		tape.Backward(dot(tape, y))
		return append([]float32(nil), y.Value...), append([]float32(nil), x.Grad...)
	}
	for _, binary := range []bool{false, true} {
		value, grad := run(true, binary)
		_, relaxed := run(false, binary)
		if !reflect.DeepEqual(grad, relaxed) {
			t.Errorf("binary %v: gradient of the hard sample differs from the relaxed one", binary)
		}
		var ones float32
		for _, v := range value {
			if v != 0 && v != 1 {
				t.Errorf("binary %v: hard value %v", binary, v)
			}
			ones += v
		}
		if !binary && ones != 3 {
			t.Errorf("hard categorical sample has %v ones in 3 rows", ones)
		}
	}
}
