// Package runs keeps the folder of a run:
//
//	runs/NAME/config.yaml     the resolved configuration
//	runs/NAME/overrides.txt   what was asked for on top of the preset, one setting per line
//	runs/NAME/run.json        state, step, digest of the parameters, versions; replaced atomically
//	runs/NAME/metrics.jsonl   one record per line, only ever appended
//	runs/NAME/checkpoints/    written by the coordinator
//	runs/NAME/log.jsonl       written by the coordinator: every step with the hash of its parameters
//	runs/NAME/figures/ tables/
//
// One process at a time holds a run; the lock ends with the process. The package
// does not know what is in a configuration, a checkpoint or a metric.
package runs
