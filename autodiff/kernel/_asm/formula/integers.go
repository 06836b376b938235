package formula

// HalfWord is the lower half of a word.
const HalfWord = 0xffff

// RoundConstants are those of Round.
var RoundConstants = words(1.0/(1<<16), 1.0/(1<<17), 1)

// Round rounds y to an integer at random by half words, and limits its magnitude: what kernel.Philox.Round does
// with a value. half is a word below 2^16. The reference is round1.
func (f Formulas[V, C]) Round(y, half, limit V) V {
	q := f.Floor(y)
	u := f.Copy(f.Value(1.0 / (1 << 17)))
	f.AddProduct(u, f.ToFloat(half), f.Value(1.0/(1<<16)))
	up := f.Only(f.Less(u, f.Sub(y, q)), f.Value(1))
	q = f.Add(q, up)
	q = f.Max(q, f.Sub(f.Zero(), limit))
	q = f.Min(q, limit)
	return f.Add(q, f.Zero()) // no -0
}
