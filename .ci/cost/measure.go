package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// measure runs a test binary and appends the cost of its tests to the ledger. It shows the output of one that fails.
func measure(ledger, binary string, arguments []string) error {
	command := exec.Command(binary, append(arguments, "-test.v=true")...)
	command.Stdin, command.Stderr = os.Stdin, os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open the output of %s: %w", binary, err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", binary, err)
	}
	a := account{clock: func() float64 { return processorSeconds(command.Process.Pid) }, spent: map[string]float64{}}
	var said bytes.Buffer
	if err := a.follow(output, &said); err != nil {
		return fmt.Errorf("read the output of %s: %w", binary, err)
	}
	if err := command.Wait(); err != nil {
		_, shown := said.WriteTo(os.Stdout)
		return errors.Join(err, shown)
	}
	return a.write(ledger)
}

// An account charges the time between two lines of output to the test that ran between them.
type account struct {
	clock   func() float64
	last    float64
	current string // the test that runs; empty between two tests
	spent   map[string]float64
	order   []string // of the keys of spent
}

func (a *account) follow(output io.Reader, said *bytes.Buffer) error {
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadString('\n')
		a.hear(line)
		said.WriteString(line)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// hear reads "=== RUN TestX", "=== PAUSE TestX", "=== CONT TestX" and "--- PASS: TestX (0.1s)". The end of a subtest is
// indented, and its time is that of the test above it.
func (a *account) hear(line string) {
	words := strings.Fields(line)
	if len(words) < 3 || !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
		return
	}
	now := a.clock()
	if a.current != "" {
		if _, known := a.spent[a.current]; !known {
			a.order = append(a.order, a.current)
		}
		a.spent[a.current] += now - a.last
	}
	a.last, a.current = now, ""
	if verb := words[1]; verb == "RUN" || verb == "CONT" || verb == "NAME" {
		a.current, _, _ = strings.Cut(words[2], "/")
	}
}

func (a *account) write(ledger string) error {
	folder, err := os.Getwd() // go test runs a binary in the folder of its package
	if err != nil {
		return fmt.Errorf("find the package: %w", err)
	}
	var lines bytes.Buffer
	for _, name := range a.order {
		fmt.Fprintf(&lines, "%.2f %s %s\n", a.spent[name], folder, name)
	}
	f, err := os.OpenFile(ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	_, err = f.Write(lines.Bytes())
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

// ticks is the unit of /proc/PID/stat, a hundredth of a second on every Linux that Go runs on.
const ticks = 100

// processorSeconds is the time in user and system mode of a process and of its children that have ended; 0 when the
// process is gone.
func processorSeconds(pid int) float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name of the program stands in brackets and may hold spaces. utime, stime, cutime and cstime are the fields 14 to
	// 17.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 15 {
		return 0
	}
	var sum int64
	for _, field := range fields[11:15] {
		part, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		sum += part
	}
	return float64(sum) / ticks
}
