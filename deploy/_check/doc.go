// Package check tests the files of deploy/ and docker-compose.yml: that the parsers of Kubernetes, Compose and systemd
// take them, that what they name exists, that no container may do more than it must, and that the program knows every
// flag they give it. It starts no container; deploy/compose_test.sh does.
package check
