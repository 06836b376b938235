// Package ops is the remote control of a host of runs, over NATS. It has the service "switchyard", with endpoints
// to submit, list, show and stop runs and to upload data sets, and the client of this service. The service follows the
// NATS micro protocol, so that the standard tools can use it:
//
//	nats micro info switchyard
//	nats request switchyard.runs.list ''
//	nats request switchyard.runs.show '{"name":"fhn-concrete-1"}'
//	nats request switchyard.runs.stop '{"name":"fhn-concrete-1"}'
//
// Requests and answers are JSON. An error has a code as in HTTP and a text that says what to do. The package does not
// know how runs are led, what a configuration holds, or what a data set is.
package ops
