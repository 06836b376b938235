// Command switchyard trains switching linear dynamical systems with deep variational
// inference, data-parallel on CPUs.
package main

import "github.com/switchyard-ml/switchyard/cmd"

func main() { cmd.Main() }
