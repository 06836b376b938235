// Command switchyard trains switching linear dynamical systems with deep variational inference, data-parallel on CPUs.
package main

import (
	"github.com/switchyard-ml/switchyard/cmd"
	"github.com/switchyard-ml/switchyard/config"
)

func main() { cmd.Main(config.Builtin()) }
