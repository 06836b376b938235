package kvae

import (
	"testing"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

func tiny(change func(*Settings)) *Settings {
	s := DefaultSettings()
	s.Latent, s.Units, s.Hidden, s.EncoderHidden, s.Channels = 3, 5, 12, 10, 2
	s.Anneal.MixingFrom = 100
	if change != nil {
		change(s)
	}
	return s
}

func newModel(s *Settings, d model.Data) *Model { return New(s, d, rng.New(5, rng.Init)) }

var (
	controlled = model.Data{NX: 3, NU: 2}
	pictured   = model.Data{NX: 32, Image: [3]int{8, 4, 1}}
)

// golden are the bits of every variant.
var golden = map[string]string{
	"vectors":     "8bbceff55663b176",
	"residual":    "133f4e4dd915b8f2",
	"no controls": "2143f94ad040866b",
	"binary":      "adb4414b3e11a8e7",
	"images":      "97173e5825194642",
	"flat images": "f38970b00269d4fc",
}

// variants are the settings that all checks run through.
func variants() map[string]modeltest.Case {
	list := map[string]modeltest.Case{}
	add := func(name string, d model.Data, change func(*Settings)) {
		s := tiny(change)
		list[name] = modeltest.Case{
			New: func(testing.TB) modeltest.Model { return newModel(s, d) },
			NX:  d.NX, NU: d.NU, Binary: s.Emission == statespace.Bernoulli, First: 1, Golden: golden[name],
		}
	}
	add("vectors", controlled, nil)
	add("residual", controlled, func(s *Settings) { s.Blocks, s.Code = 1, 2 })
	add("no controls", model.Data{NX: 3}, func(s *Settings) { s.EmissionSD = statespace.ConstantSD })
	add("binary", model.Data{NX: 3}, func(s *Settings) { s.Emission = statespace.Bernoulli })
	add("images", pictured, func(s *Settings) { s.Emission, s.Convolutions = statespace.Bernoulli, 2 })
	add("flat images", pictured, func(s *Settings) { s.Emission, s.Convolutions = statespace.Bernoulli, 0 })
	return list
}

func TestModel_KeepsTheContract(t *testing.T) {
	for name, c := range variants() {
		t.Run(name, c.Run)
	}
}
