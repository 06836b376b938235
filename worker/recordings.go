package worker

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// SimulatedRecordings are all training episodes of an environment, whole, as sequences one by one.
func SimulatedRecordings(env envs.Env, seed uint64, episodes, length int) []model.Batch {
	spec, key := env.Spec(), rng.New(seed, rng.Episode)
	list := make([]model.Batch, episodes)
	for i := range list {
		var e envs.Episode
		env.Simulate(&e, key, uint32(i), length)
		list[i] = model.Batch{
			T: length, B: 1, NX: spec.Observation, NU: spec.Control, Observations: e.Observations,
			Controls: e.Controls,
		}
	}
	return list
}

// StoredRecordings are the training episodes of a split of a data set, whole, as sequences one by one. They share its
// memory.
func StoredRecordings(d *files.Dataset, s files.Split) []model.Batch {
	var list []model.Batch
	for _, i := range s.Training {
		e := &d.Episodes[i]
		list = append(list, model.Batch{
			T: e.T, B: 1, NX: d.Spec.Observation, NU: d.Spec.Control, Observations: e.Observations, Controls: e.Controls,
			Seen: e.Mask,
		})
	}
	return list
}

// Spread are the sequences, B = 1, or if they have more than so many steps pieces of at most 512 steps, evenly spread
// over all of them; most = 0: all steps. They share memory.
func Spread(sequences []model.Batch, most int) []model.Batch {
	const piece = 512
	total := 0
	for _, b := range sequences {
		total += b.T
	}
	if most == 0 || total <= most {
		return sequences
	}
	var pieces, list []model.Batch
	for _, b := range sequences {
		for from := 0; from < b.T; from += piece {
			pieces = append(pieces, b.Steps(from, min(from+piece, b.T)))
		}
	}
	each := (total + most - 1) / most
	for i := 0; i < len(pieces); i += each {
		list = append(list, pieces[i])
	}
	return list
}
