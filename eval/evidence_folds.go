package eval

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/arhmm"
)

// folds are pieces of recordings in their components; every second piece is of the same half. Half 0 holds pieces
// 0, 2, 4, …, half 1 the others. Pieces do not overlap; a fit that sees one half is measured on the other.
type folds struct {
	// n components and nu controls of a piece, of so many channels in the recordings.
	n, nu    int
	channels int
	pieces   []model.Batch
	// Steps of each piece, as weights.
	lengths []float64
}

// How recordings are cut into pieces.
const (
	// evidenceSteps is about how many steps EM sees, or fewer where the state is large; a piece has shortestPiece
	// to longestPiece steps, such that there are evidencePieces of them if the recordings allow it.
	evidenceSteps  = 8192
	evidencePieces = 20 // at least
	longestPiece   = 256
	shortestPiece  = 16
	gapRegimes     = 4 // with so many the time at gaps is estimated
)

// A component is noise if it has little of the variance and does not depend on its last value.
const (
	noiseShare       = 0.05
	noiseCorrelation = 0.1
)

// foldsOf cuts recordings into pieces, evenly spread over all of them, in the components that are more than noise.
// An error is a files.Error: images, too many channels, too few steps, or none that is complete.
func foldsOf(d *files.Dataset) (folds, error) {
	nx := d.Spec.Observation
	if d.Images() || nx > mostChannels {
		return folds{}, &files.Error{Problem: fmt.Sprintf("%d observed channels; regimes are looked for in at most %d",
			nx, mostChannels)}
	}
	length := min(max(d.Steps()/evidencePieces, shortestPiece), longestPiece)
	f := folds{channels: nx, nu: d.Spec.Control}
	for _, e := range d.Episodes {
		for from := 0; from+shortestPiece <= e.T; from += length {
			f.pieces = append(f.pieces, partOf(e, from, min(from+length, e.T), nx, f.nu))
		}
	}
	if len(f.pieces) < evidencePieces {
		return f, &files.Error{Problem: fmt.Sprintf("%d steps in %s, which have %d pieces of %d steps in a row; regimes are "+
			"looked for in %d or more", d.Steps(), terminal.Count(len(d.Episodes), "episode"), len(f.pieces), shortestPiece,
			evidencePieces)}
	}
	components := newComponents(f.pieces, nx)
	if f.n = len(components.vectors); f.n == 0 {
		return f, &files.Error{Problem: "no step misses no value; regimes are looked for in complete ones"}
	}
	// Components come from all pieces; only those that EM is to see are transformed.
	f.spread()
	for i := range f.pieces {
		f.pieces[i] = components.of(f.pieces[i])
	}
	f.pieces = arhmm.Thinned(f.pieces, gapRegimes, 1, evidencePieces)
	for _, b := range f.pieces {
		f.lengths = append(f.lengths, float64(b.T))
	}
	return f, nil
}

// partOf is a part of an episode. It shares the memory of the episode.
func partOf(e files.Episode, from, to, nx, nu int) model.Batch {
	b := model.Batch{T: e.T, B: 1, NX: nx, NU: nu, Observations: e.Observations, Controls: e.Controls, Seen: e.Mask}
	return b.Steps(from, to)
}

// spread leaves out pieces, evenly, so that EM takes seconds, but aims at 64 steps or more for each unknown of a
// mean, and keeps evidencePieces pieces. The work of a sweep grows with steps·(row+4)², row the unknowns of a
// mean.
func (f *folds) spread() {
	const most = 2_000_000 // steps times the square of the unknowns of a mean
	row := f.n + f.nu + 1
	steps, total := max(min(evidenceSteps, most/((row+4)*(row+4))), 64*row), 0
	for _, b := range f.pieces {
		total += b.T
	}
	each := max(1, min((total+steps-1)/steps, len(f.pieces)/evidencePieces))
	// The list is shortened in place: i·each ≥ i.
	for i := 0; i*each < len(f.pieces); i++ {
		f.pieces[i] = f.pieces[i*each]
	}
	f.pieces = f.pieces[:(len(f.pieces)+each-1)/each]
}

// half are the pieces of one half.
func (f *folds) half(half int) []model.Batch {
	var list []model.Batch
	for i := half; i < len(f.pieces); i += 2 {
		list = append(list, f.pieces[i])
	}
	return list
}

// components are the principal components of scaled channels that are more than noise: c_k = v_kᵀ (x − mean)/sd,
// those of the most variance first.
type components struct {
	mean, sd []float64
	vectors  [][]float64
}

// newComponents finds them in the steps that miss no value: those before the last one that has a good part of the
// variance, or depends on its own value a step before. Without such steps there are none. Mean and deviation are
// those of the steps that miss no value; the covariance is that of scaled channels, so its trace is nx.
func newComponents(pieces []model.Batch, nx int) components {
	c := components{mean: make([]float64, nx), sd: make([]float64, nx)}
	n, rows := 0.0, []([]float64){}
	for _, b := range pieces {
		for t := range b.T {
			var row []float64 // nil: something is missing
			if b.Seen == nil || !slices.Contains(b.Seen[t*nx:(t+1)*nx], 0) {
				row = widen(b.Observations[t*nx : (t+1)*nx])
				n++
				for i, v := range row {
					before := v - c.mean[i]
					c.mean[i] += before / n
					c.sd[i] += float64(before * (v - c.mean[i]))
				}
			}
			rows = append(rows, row)
		}
		// A nil parts the pieces, as a missing step does: memory does not look across.
		rows = append(rows, nil)
	}
	// A channel that never changes keeps the scale 1.
	for i, v := range c.sd {
		if c.sd[i] = math.Sqrt(v / max(n, 1)); c.sd[i] == 0 {
			c.sd[i] = 1
		}
	}
	// Rows are scaled in place: memory below reads the scaled ones.
	covariance := mat.NewSymDense(nx, nil)
	for _, row := range rows {
		for i := range row {
			row[i] = (row[i] - c.mean[i]) / c.sd[i]
		}
		if row != nil {
			covariance.SymRankOne(covariance, 1/n, mat.NewVecDense(nx, row))
		}
	}
	var eigen mat.EigenSym
	if n == 0 || !eigen.Factorize(covariance, true) {
		return c
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil) // the largest last
	for k := nx - 1; k >= 0; k-- {
		c.vectors = append(c.vectors, mat.Col(nil, k, &vectors))
	}
	// From the least variance up: the first that is more than noise ends it, and one component always stays.
	for k := nx - 1; k > 0; k-- {
		if values[nx-1-k] >= noiseShare*float64(nx) || memory(rows, c.vectors[k]) >= noiseCorrelation {
			break
		}
		c.vectors = c.vectors[:k]
	}
	return c
}

// memory is the correlation of a component with its value a step before. It is |Σ c_t c_{t−1}| / Σ c_t² over steps
// whose predecessor is complete too, from 0 to about 1.
func memory(rows [][]float64, vector []float64) float64 {
	product, square := 0.0, 0.0
	for t := 1; t < len(rows); t++ {
		if rows[t] == nil || rows[t-1] == nil {
			continue
		}
		v := floats.Dot(vector, rows[t])
		product += float64(v * floats.Dot(vector, rows[t-1]))
		square += float64(v * v)
	}
	if square == 0 {
		return 0
	}
	return math.Abs(product / square)
}

// of are the components of a piece. Where all channels count they are the scaled channels themselves, of which any may
// be missing; else a step that misses a value misses all. It is a batch of its own memory but for the controls.
func (c components) of(b model.Batch) model.Batch {
	nx, n := b.NX, len(c.vectors)
	out := model.Batch{T: b.T, B: 1, NX: n, NU: b.NU, Controls: b.Controls, Observations: make([]float32, b.T*n)}
	if b.Seen != nil {
		out.Seen = make([]float32, b.T*n)
	}
	row := make([]float64, nx)
	for t := range b.T {
		for i, v := range b.Observations[t*nx : (t+1)*nx] {
			row[i] = (float64(v) - c.mean[i]) / c.sd[i]
		}
		for k := range n {
			// All channels count: the scaled ones hold the same, and a step that misses one keeps the others.
			if v := row[k]; n == nx {
				out.Observations[t*n+k] = float32(v)
			} else {
				out.Observations[t*n+k] = float32(floats.Dot(c.vectors[k], row))
			}
			if b.Seen != nil && (n == nx && b.Seen[t*nx+k] != 0 || !slices.Contains(b.Seen[t*nx:(t+1)*nx], 0)) {
				out.Seen[t*n+k] = 1
			}
		}
	}
	return out
}
