// Command cost measures the processor time of each test, and holds it against a budget.
//
//	go test -parallel 1 -exec 'cost run LEDGER' ./...
//	cost check LEDGER COSTLY YARDSTICKS
//
// The first form stands between go test and a test binary. LEDGER gains one line per test: processor seconds, folder of
// the package, name. The time is that of the process and of the children that it has waited for, read from the kernel
// whenever the binary says that a test begins, pauses, goes on or ends. A busy machine does not change it by much, but
// it needs -parallel 1: two tests of one process at the same time share one clock.
//
// The second form prints the ten costliest tests. It fails for each test that takes longer than YARDSTICKS times a
// fixed computation and is not listed in COSTLY, and for each line of COSTLY that names no test of a package in the
// ledger.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

const usage = "usage: cost run LEDGER BINARY [ARGUMENT...]\n       cost check LEDGER COSTLY YARDSTICKS"

func main() {
	err := errors.New(usage)
	if len(os.Args) > 3 {
		switch os.Args[1] {
		case "run":
			err = measure(os.Args[2], os.Args[3], os.Args[4:])
		case "check":
			if len(os.Args) == 5 {
				err = check(os.Args[2], os.Args[3], os.Args[4])
			}
		}
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit): // the tests have said why
		os.Exit(max(exit.ExitCode(), 1))
	case err != nil:
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}
