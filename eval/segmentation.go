package eval

import (
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// SegmentPaths is how many paths of the posterior a segmentation averages.
const SegmentPaths = 32

// shownSteps and shownStrips are how much of the held-out recordings is shown.
const shownSteps, shownStrips = 300, 2

// SegmentationReport is the result of the protocol Segmentation. Recordings and Steps count what is scored: steps
// of held-out recordings that have labels. Labels are in ascending order, as the rows of Counts are.
type SegmentationReport struct {
	Title             string
	Recordings, Steps int
	Labels            []int
	// Of the model, if it divides time and has no bodies, the autoregressive HMM, the most frequent label.
	Rows     []SegmentationScore
	Strips   []Strip
	Names    []string // of the channels of the strips
	DT       float64  // between two steps; 0: unknown
	TimeUnit string
	Notes    []string
}

// Strip is a held-out recording with its true regimes and those that the model found: the beginning of its
// labelled part, all lists of the same length.
type Strip struct {
	Name   string
	First  int         // time step of the first values
	Values [][]float64 // in the units of the data; NaN: missing
	Found  []int       // from 0
	Truth  []int       // the regime that stands for the label of each step; −1: none does
}

// Segmentation compares the regimes that a model finds in held-out recordings with their labels, beside those of
// an autoregressive HMM with as many regimes as there are labels, which is fitted to the training recordings.
// Neither sees a label. An HMM that cannot be fitted becomes a note.
func (d divided) Segmentation(f model.Forecaster) SegmentationReport {
	r := d.report(f)
	var own [][]int // of the model, by its own numbers
	for i := range r.Rows {
		s := &r.Rows[i]
		if s.Key == byMerged {
			s.agree(r.Labels, d.truth(), Renumbered(d.merged(f, own), d.order))
			continue
		}
		found, err := d.found(f, *s)
		if err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("The autoregressive HMM could not be fitted: %v.", err))
			continue
		}
		if s.Key == byTheModel {
			own, found = found, Renumbered(found, d.order)
		}
		s.agree(r.Labels, d.truth(), found)
		if s.Key == byTheModel {
			r.show(d, *s, found)
		}
	}
	return r
}

// The predictors of regimes, as the names of their metrics end.
const (
	byTheModel    = ""
	byMerged      = "merged"
	byMarkov      = "arhmm"
	bySingleLabel = "majority"
)

// report says what will be compared. Scores have no values yet: with it the metrics are listed. The HMM is left
// out where observations are images.
func (d divided) report(f model.Forecaster) SegmentationReport {
	truth := d.truth()
	r := SegmentationReport{
		Title: d.title, Recordings: len(d.test), Labels: different(truth), Names: d.names, DT: d.dt, TimeUnit: d.unit,
	}
	for _, labels := range truth {
		r.Steps += len(labels)
	}
	// The rows come in the order in which they are shown: the model, the same with regimes merged, the HMM, the
	// single label.
	switch {
	case !divides(f):
		r.Notes = append(r.Notes, "This family of models does not divide a series into regimes.")
	case f.Dims().Bodies > 1:
		r.Notes = append(r.Notes, fmt.Sprintf("The model divides each of %d bodies into regimes of its own; labels are of "+
			"the whole recording, and are not compared with them.", f.Dims().Bodies))
	default:
		r.Rows = append(r.Rows, SegmentationScore{Name: "model", Regimes: f.Dims().Regimes()})
		if mergeable(f) {
			r.Rows = append(r.Rows, SegmentationScore{
				Name: "model, alike regimes as one", Key: byMerged, Regimes: f.Dims().Regimes(),
			})
		}
	}
	if f.Dims().NX <= mostDistributed {
		k := len(d.labels())
		r.Rows = append(r.Rows, SegmentationScore{
			Name: fmt.Sprintf("autoregressive HMM, %d regimes", k), Key: byMarkov, Regimes: k,
		})
	}
	r.Rows = append(r.Rows, SegmentationScore{
		Name: "the most frequent label alone", Key: bySingleLabel, Regimes: 1,
	})
	for i := range r.Rows {
		r.Rows[i].agree(r.Labels, nil, nil)
	}
	return r
}

// found are the regimes of the labelled steps of each held-out recording, by one of the predictors and its numbers.
func (d divided) found(f model.Forecaster, by SegmentationScore) ([][]int, error) {
	switch by.Key {
	case byMarkov:
		hmm, err := d.markov(by.Regimes, f.Dims())
		if err != nil {
			return nil, err
		}
		return d.divide(hmm), nil
	case bySingleLabel:
		var found [][]int
		for _, labels := range d.truth() {
			found = append(found, make([]int, len(labels)))
		}
		return found, nil
	}
	return d.divide(f), nil
}

// mergeable reports whether predictions of the regimes of a model can be compared.
func mergeable(f model.Forecaster) bool {
	_, systematic := f.(model.Systematic)
	_, filters := f.(model.Filterer)
	return systematic && filters && f.Dims().Bodies < 2
}

// merged are the regimes that a model found, where those that predict alike on these steps have the number of the
// first of them. It must be asked about a model that is mergeable.
func (d divided) merged(f model.Forecaster, found [][]int) [][]int {
	systems := f.(model.Systematic).Systems()
	// Held-out recordings are at hand: no batch is an error.
	group, _ := Alike(f.(model.Filterer), systems, found, func(i int) (model.Batch, rng.Stream, error) {
		noise := rng.New(d.seed, rng.Evaluation).At(0, uint32(i), noiseOfTest)
		return model.Whole(f, d.test[i].batch(f.Dims()), noise), noise, nil
	})
	list := make([][]int, len(found))
	for i, regimes := range found {
		for _, k := range regimes {
			list[i] = append(list[i], group[k])
		}
	}
	return list
}

// truth are the labels of the held-out recordings.
func (d divided) truth() [][]int { return labelsOf(d.test) }

// labels are all that there are, in training too.
func (d divided) labels() []int { return different(append(d.truth(), labelsOf(d.training)...)) }

// labelsOf are the labels of recordings, [recording][step].
func labelsOf(list []labelled) [][]int {
	var all [][]int
	for _, e := range list {
		all = append(all, e.labels)
	}
	return all
}

// divide is the most likely regime of each labelled step of the held-out recordings, by a model without bodies.
// [recording][labelled step]; recordings are divided at a time, each with noise of its own.
func (d divided) divide(f model.Forecaster) [][]int {
	found := make([][]int, len(d.test))
	forEach(f, d.threads, len(d.test), func(f model.Forecaster, i int) {
		e := d.test[i]
		noise := rng.New(d.seed, rng.Evaluation).At(0, uint32(i), noiseOfTest)
		found[i] = likeliest(f, e.Recording, SegmentPaths, noise)[0][e.scored():]
	})
	return found
}

// likeliest is the most likely regime of each step of a recording, by a model that divides time, averaged over so many
// paths of the posterior. It is [bodies][T], one list for a model without bodies, by the numbers of the family; of
// equal ones it is the first.
func likeliest(f model.Forecaster, e Recording, paths int, noise rng.Stream) [][]int {
	b := e.batch(f.Dims())
	var answer model.Segmentation
	f.(model.Segmenter).Segment(&answer, model.Whole(f, b, noise), paths, noise)
	m := f.Dims().Regimes()
	bodies := make([][]int, f.Dims().Switches())
	for i := range bodies {
		list := make([]int, b.T)
		for t := range list {
			p := answer.Probability[t*answer.M+i*m:][:m]
			for k, v := range p {
				if v > p[list[t]] {
					list[t] = k
				}
			}
		}
		bodies[i] = list
	}
	return bodies
}

// show keeps the beginnings of the first held-out recordings, with what the model found there. True regimes are
// drawn as the found ones that stand for their labels.
func (r *SegmentationReport) show(d divided, s SegmentationScore, found [][]int) {
	stands := map[int]int{}
	for i, label := range r.Labels {
		stands[label] = s.Match[i]
	}
	for i, e := range d.test[:min(len(d.test), shownStrips)] {
		n := min(len(e.labels), shownSteps)
		strip := Strip{Name: e.Name, First: e.scored(), Values: e.values(e.scored(), e.scored()+n), Found: found[i][:n]}
		for _, label := range e.labels[:n] {
			strip.Truth = append(strip.Truth, stands[label])
		}
		r.Strips = append(r.Strips, strip)
	}
}

// different are the values of sequences, in ascending order. Each value is there once.
func different(sequences [][]int) []int {
	values := slices.Concat(sequences...)
	slices.Sort(values)
	return slices.Compact(values)
}
