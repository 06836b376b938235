package terminal

import "time"

// Meter measures a rate over the recent past.
type Meter struct {
	marks []mark
}

type mark struct {
	at    time.Time
	count uint64
}

// meterSpan is the length of time that a rate is measured over; meterMarks is the number of marks in it.
const (
	meterSpan  = 20 * time.Second
	meterMarks = 64
)

// Add records that count was reached at a time. Times and counts do not decrease.
func (m *Meter) Add(at time.Time, count uint64) {
	if n := len(m.marks); n > 1 && at.Sub(m.marks[n-2].at) < meterSpan/meterMarks {
		m.marks[n-1] = mark{at, count} // close to the mark before: the last mark moves
		return
	}
	m.marks = append(m.marks, mark{at, count})
	drop := 0
	for drop < len(m.marks)-2 && at.Sub(m.marks[drop].at) > meterSpan {
		drop++
	}
	m.marks = append(m.marks[:0], m.marks[drop:]...)
}

// Rate is the count per second between the oldest and the latest mark; 0 if there are fewer than two.
func (m *Meter) Rate() float64 {
	if len(m.marks) < 2 {
		return 0
	}
	first, last := m.marks[0], m.marks[len(m.marks)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(last.count-first.count) / seconds
}
