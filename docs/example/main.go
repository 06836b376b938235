// Command example is switchyard with an environment and a family of models more. It has every command, the page, and
// the workers that another machine starts:
//
//	go run . train fhn/smoke env.kind=pendulum model.kind=regimes train.steps=300 --name mine
//	go run . eval mine
//	go run . config show fhn env.kind=pendulum model.kind=regimes
package main

import (
	"log"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/cmd"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"

	"example.org/own/pendulum"
	"example.org/own/regimes"
)

func main() {
	registry, err := kinds()
	if err != nil {
		log.Fatal(err)
	}
	cmd.Main(registry)
}

// kinds are those of Switchyard and our own.
func kinds() (*switchyard.Registry, error) {
	return switchyard.NewRegistry(switchyard.Own{
		Environments: []envs.Kind{pendulum.Kind()},
		Families:     []model.Family{regimes.Family()},
	})
}
