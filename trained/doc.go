// Package trained opens the result of a run and answers questions with it. A run opened is its configuration, a
// checkpoint, the model with the parameters of the checkpoint, and the scaling of its data. Questions are in the units
// of the data: forecasts, filtering, smoothing, regimes, simulation, linear systems, rolling-origin tests and exports;
// protocols measure the run and write table and figure into its folder. An answer has every form that a user may want:
// a table for the eye, named arrays as npz and JSON, rows as CSV, and a picture.
//
// The package knows families of models by their interfaces only; it neither trains nor prints.
package trained
