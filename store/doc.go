// Package store keeps the folder of a run:
//
//	runs/NAME/config.yaml     the resolved configuration
//	runs/NAME/overrides.txt   the settings on top of the preset, one per line
//	runs/NAME/run.json        state, step, digest of the parameters, versions; replaced atomically
//	runs/NAME/metrics.jsonl   one record per line; lines are only appended
//	runs/NAME/checkpoints/    written by the coordinator, see package checkpoint
//	runs/NAME/log.jsonl       written by the coordinator: every step with the hash of its parameters
//	runs/NAME/magnitudes.json how large the values of gradient and parameters are, over the run
//	runs/NAME/labels.json     tags and a note, written by people
//	runs/NAME/figures/ tables/
//
// Only one process at a time holds a run; the lock ends with the process. The metrics of a run can be handed to
// programs that compare experiments: as event files of TensorBoard, and to a server that speaks the REST protocol of
// MLflow. The package does not know the content of checkpoints, nor how runs are made.
package store
