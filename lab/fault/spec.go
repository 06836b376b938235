package fault

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// ErrSpec is returned by Parse for a text that is not a valid specification.
var ErrSpec = errors.New("fault: invalid specification")

// Spec lists the faults that a process injects. The zero Spec has none.
type Spec struct {
	Seed uint64
	// Drop, Dup and Corrupt are the shares of messages that are lost, repeated and changed in one bit; NaN is the share
	// of shards' gradients that get a NaN.
	Drop, Dup, Corrupt, NaN float64
	Delay                   Delay
	Partition               Outage // nothing is sent or received
	DiskFull                Outage // no file can be created or written
	Counts                  string // file for the counters; empty: none
	// Soon is within which time the first partition and the first full disk begin; 0: they come when they come.
	Soon time.Duration
}

// Delay delays a share of the messages, each by a time drawn uniformly up to Most.
type Delay struct {
	Most  time.Duration
	Share float64
}

// Outage has a length and the mean time between the beginnings of two outages. The zero Outage is none.
type Outage struct{ Length, Every time.Duration }

// Defaults for parts that a specification leaves out.
const (
	defaultDelayShare = 0.05
	outageRatio       = 10 // Every of an Outage, in multiples of Length
)

// Parse reads a specification: settings NAME=VALUE with commas between them, such as
//
//	seed=7,drop=2%,dup=1%,delay=200ms/5%,corrupt=0.1%,nan=0.1%,partition=4s/40s,disk-full=3s/60s,counts=PATH
//
// A share is a percentage or a fraction. A delay is the longest delay and the share of messages; an outage is its
// length and the mean time between two. The slash and what follows it may be left out. An error is ErrSpec and
// names the setting. An empty text is one. In a path %2C is a comma, and %25 a per cent sign.
func Parse(text string) (Spec, error) {
	var s Spec
	for setting := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(setting), "=")
		if !found {
			return Spec{}, fmt.Errorf("%w: %q is not NAME=VALUE", ErrSpec, setting)
		}
		if err := s.set(name, value); err != nil {
			return Spec{}, fmt.Errorf("%w: %s=%s: %w", ErrSpec, name, value, err)
		}
	}
	return s, nil
}

// set reads one setting.
func (s *Spec) set(name, value string) (err error) {
	switch name {
	case "seed":
		s.Seed, err = strconv.ParseUint(value, 10, 64)
	case "drop":
		s.Drop, err = ParseShare(value)
	case "dup":
		s.Dup, err = ParseShare(value)
	case "corrupt":
		s.Corrupt, err = ParseShare(value)
	case "nan":
		s.NaN, err = ParseShare(value)
	case "delay":
		s.Delay, err = ParseDelay(value)
	case "partition":
		s.Partition, err = ParseOutage(value)
	case "disk-full":
		s.DiskFull, err = ParseOutage(value)
	case "soon":
		s.Soon, err = ParseLength(value)
	case "counts":
		s.Counts = value
		if path, err := url.PathUnescape(value); err == nil {
			s.Counts = path
		}
	default:
		err = errors.New("the settings are seed, drop, dup, delay, corrupt, nan, partition, disk-full, soon, counts")
	}
	return err
}

// String is a text that Parse reads as the same Spec. What a process does not inject is left out.
func (s Spec) String() string {
	settings := []string{"seed=" + strconv.FormatUint(s.Seed, 10)}
	for _, share := range []struct {
		name  string
		value float64
	}{{"drop", s.Drop}, {"dup", s.Dup}, {"corrupt", s.Corrupt}, {"nan", s.NaN}} {
		if share.value > 0 {
			settings = append(settings, share.name+"="+strconv.FormatFloat(share.value, 'g', -1, 64))
		}
	}
	if s.Delay.Most > 0 {
		settings = append(settings, "delay="+s.Delay.String())
	}
	if s.Partition.Length > 0 {
		settings = append(settings, "partition="+s.Partition.String())
	}
	if s.DiskFull.Length > 0 {
		settings = append(settings, "disk-full="+s.DiskFull.String())
	}
	if s.Soon > 0 {
		settings = append(settings, "soon="+s.Soon.String())
	}
	if s.Counts != "" {
		settings = append(settings, "counts="+strings.NewReplacer("%", "%25", ",", "%2C").Replace(s.Counts))
	}
	return strings.Join(settings, ",")
}

// String is the form that ParseDelay reads.
func (d Delay) String() string {
	return d.Most.String() + "/" + strconv.FormatFloat(d.Share, 'g', -1, 64)
}

// String is the form that ParseOutage reads.
func (o Outage) String() string { return o.Length.String() + "/" + o.Every.String() }

// ParseShare reads a percentage or a fraction, from 0 to 1: "2%" or "0.02".
func ParseShare(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no share, such as 2%% or 0.02", text)
	}
	if percent {
		v /= 100
	}
	if !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%q is not between 0 and 100%%", text)
	}
	return v, nil
}

// ParseDelay reads "MOST" or "MOST/SHARE", e.g. 200ms/5%; without SHARE it is 5 %.
func ParseDelay(text string) (Delay, error) {
	length, share, found := strings.Cut(text, "/")
	d := Delay{Share: defaultDelayShare}
	var err error
	if d.Most, err = ParseLength(length); err == nil && found {
		d.Share, err = ParseShare(share)
	}
	return d, err
}

// ParseOutage reads "LENGTH" or "LENGTH/EVERY", e.g. 4s/40s; without EVERY it is ten lengths. EVERY has to be
// longer than LENGTH.
func ParseOutage(text string) (Outage, error) {
	length, every, found := strings.Cut(text, "/")
	var o Outage
	var err error
	if o.Length, err = ParseLength(length); err != nil {
		return o, err
	}
	o.Every = outageRatio * o.Length
	if found {
		if o.Every, err = ParseLength(every); err != nil {
			return o, err
		}
	}
	if o.Every < o.Length || o.Length > 0 && o.Every == o.Length {
		return o, fmt.Errorf("one of %v in every %v leaves no time between", o.Length, o.Every)
	}
	return o, nil
}

// ParseLength reads a duration that is not negative.
func ParseLength(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no length of time, such as 200ms or 4s", text)
	}
	return d, nil
}
