package coordinator

import (
	"testing"
	"time"
)

// A suspended run goes on when it is resumed; a finished one never does.
func TestLife_FinishedStaysFinished(t *testing.T) {
	var l life
	if !l.active() {
		t.Fatal("a new run is not active")
	}
	if l.suspend(); l.active() {
		t.Error("a suspended run is active")
	}
	if l.resume(); !l.active() {
		t.Error("a resumed run is not active")
	}
	l.finish()
	l.suspend()
	if l.resume(); l.state != finished {
		t.Error("a finished run was resumed")
	}
}

// A wait is reported once a second; one that is over is not reported.
func TestLife_ReportsAWaitOnceASecond(t *testing.T) {
	l := life{reportedAt: -time.Second}
	reports := 0
	for now := time.Duration(0); now < 3*time.Second; now += 100 * time.Millisecond {
		if l.wait(now, "workers") {
			reports++
		}
	}
	if reports != 3 {
		t.Errorf("%d reports in 3 s", reports)
	}
	if l.wait(time.Minute, "") || l.waitsFor != "" {
		t.Error("a wait that is over is reported")
	}
}
