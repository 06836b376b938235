package statespace

import "github.com/switchyard-ml/switchyard/model"

// Warmup is how many observations the first state is inferred from.
func (f *bodiesForecaster) Warmup() int { return f.one.Warmup() }

// Begin infers the first states of all bodies.
func (f *bodiesForecaster) Begin(dst *model.Belief, first model.Batch) {
	f.one.Begin(dst, f.bodies(first))
	f.together(dst)
}

// Step filters the next observation of all bodies.
func (f *bodiesForecaster) Step(dst, from *model.Belief, b model.Batch, noise model.Disturbance) {
	apart := f.apart(from)
	f.one.Step(dst, &apart, f.bodies(b), noise)
	f.together(dst)
}

// Advance predicts the next states of all bodies.
func (f *bodiesForecaster) Advance(dst, from *model.Belief, u []float32, noise model.Disturbance) {
	apart := f.apart(from)
	f.tape.Reset()
	f.one.Advance(dst, &apart, f.m.layout.Controls(f.tape, u), noise)
	f.together(dst)
}

// apart is a belief with a row for each body, in the same memory: rows [B, K·n] are [B·K, n].
func (f *bodiesForecaster) apart(b *model.Belief) model.Belief {
	k, y := f.m.layout.Bodies, *b
	y.B, y.NZ, y.M = b.B*k, b.NZ/k, b.M/k
	return y
}

// together turns the rows of bodies into one, the inverse of apart.
func (f *bodiesForecaster) together(b *model.Belief) {
	k := f.m.layout.Bodies
	b.B, b.NZ, b.M = b.B/k, b.NZ*k, b.M*k
}

// Graphs are those of a body, for all of them at once.
func (f *bodiesForecaster) Graphs(horizon int) []model.Graph {
	list := f.one.Graphs(horizon)
	for i, g := range list {
		list[i] = g.Together(f.m.layout.Bodies, f.m.layout.places)
	}
	return list
}

// places finds the columns of a value of a graph by its name: pairs of an observation and a control, one step
// after another; observations; controls; marks of observations, of which those of a body are multiplied; marks
// that all bodies have in common; or blocks of the state, body after body.
func (l *Layout) places(v model.Value) model.Places {
	p := model.Places{Columns: make([][]int, l.Bodies)}
	for k := range p.Columns {
		x, u := l.of(k)
		switch v.Name {
		case "first":
			p.Width = l.steps(&p.Columns[k], v.Width/(len(x)+len(u)), x, u)
		case "x", "sd":
			p.Width = l.steps(&p.Columns[k], v.Width/len(x), x, nil)
		case "u", "controls":
			p.Width = l.steps(&p.Columns[k], v.Width/len(u), nil, u)
		case "seen":
			p.Width, p.Columns[k], p.Product = l.NX, x, true
		case "drawn":
			p.Width, p.Columns[k] = 1, []int{0}
		default:
			p.Width = l.Bodies * v.Width
			for i := range v.Width {
				p.Columns[k] = append(p.Columns[k], k*v.Width+i)
			}
		}
	}
	return p
}

// of are the channels and controls of body k.
func (l *Layout) of(k int) (channels, controls []int) {
	list := func(all []int, n int) []int {
		if all != nil {
			return all[k*n : (k+1)*n]
		}
		lie := make([]int, n)
		for i := range lie {
			lie[i] = k*n + i
		}
		return lie
	}
	return list(l.channels, l.each.nx), list(l.controls, l.each.nu)
}

// steps adds the columns of so many steps with channels, controls or both to a list. It returns how many columns all
// bodies have.
func (l *Layout) steps(columns *[]int, steps int, channels, controls []int) (width int) {
	nx, nu := l.NX, l.NU
	if channels == nil {
		nx = 0
	}
	if controls == nil {
		nu = 0
	}
	for s := range steps {
		for _, c := range channels {
			*columns = append(*columns, s*(nx+nu)+c)
		}
		for _, c := range controls {
			*columns = append(*columns, s*(nx+nu)+nx+c)
		}
	}
	return steps * (nx + nu)
}
