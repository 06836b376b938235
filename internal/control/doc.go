// Package control is how a host of runs is told what to do over NATS: the service "switchyard" with endpoints to submit,
// list, show and stop runs and to bring data sets, and the client of that service. It is a service of the NATS micro
// protocol, so that the standard tools see it:
//
//	nats micro info switchyard
//	nats request switchyard.runs.list ''
//	nats request switchyard.runs.show '{"name":"fhn-concrete-1"}'
//	nats request switchyard.runs.stop '{"name":"fhn-concrete-1"}'
//
// Requests and answers are JSON. An error has a code as in HTTP and a text that says what to do. The package does not
// know how runs are led, what a configuration holds, or what a data set is.
package control
