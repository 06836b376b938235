// Products beside those of another pure-Go library. A module of its own: the product does not depend on that library.
module example.org/gomlx

go 1.26.0

require (
	github.com/gomlx/compute v0.1.3
	github.com/switchyard-ml/switchyard v0.0.0
)

require (
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/exp v0.0.0-20260410095643-746e56fc9e2f // indirect
	golang.org/x/sys v0.49.0 // indirect
	k8s.io/klog/v2 v2.140.0 // indirect
)

replace github.com/switchyard-ml/switchyard => ../../..
