// Package serving answers questions to a trained model for many clients: it filters their observations as they come,
// with a state for each client, and forecasts. Requests that wait at the same time are computed together. They come
// over HTTP, as JSON, and over NATS as a micro service that the standard tools find: the same requests and answers on
// the subjects switchyard.model.RUN.filter, .forecast and .forget. The package does not know how a model was trained.
//
// What is refused: requests larger than Limits; what would exceed the memory, the work or the requests in progress
// (machine.go); and requests that would wait for a core (pressure.go).
//
// A request goes through Service.do: the machine takes it or refuses it, the goroutines of Work compute it, and the
// one that asked waits for that. Each request takes effect as a whole or not at all, and those of one client in the
// order in which they came.
package serving
