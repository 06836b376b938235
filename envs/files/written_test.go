package files

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// followers are the times of a table of one column of times, and n that follow.
func followers(t *testing.T, list []string, n int) []string {
	t.Helper()
	var b strings.Builder
	b.WriteString("when;y\n")
	for i, at := range list {
		fmt.Fprintf(&b, "%s;%d\n", at, i)
	}
	times := episodeTimes(t, list[0], b.String(), Options{Time: "when"})
	if times == nil {
		t.FailNow()
	}
	var texts []string
	for i := range len(list) + n {
		texts = append(texts, times.Text(i)[0])
	}
	return texts
}

// TestTimes_WholeNumbersKeepTheirSteps: large whole numbers whose mean step is none, as of 30 pictures a second, are
// written as whole numbers that are told apart.
func TestTimes_WholeNumbersKeepTheirSteps(t *testing.T) {
	t.Parallel()
	var pictures, seconds []string
	for i := range 100 {
		pictures = append(pictures, fmt.Sprint(1700000000000+int(math.Round(float64(i)*100/3))))
	}
	for i := range 61 {
		seconds = append(seconds, fmt.Sprint(1600000000+60*i+i/60))
	}
	got := followers(t, pictures, 3)
	if want := append(pictures, "1700000003333", "1700000003367", "1700000003400"); !slices.Equal(got, want) {
		t.Errorf("pictures: %v, want %v", got, want)
	}
	got = followers(t, seconds, 2)[61:]
	if want := []string{"1600003661", "1600003721"}; !slices.Equal(got, want) {
		t.Errorf("seconds: %v, want %v", got, want)
	}
	// Small numbers have six digits, as ever.
	got = followers(t, []string{"0", "33", "67", "100"}, 1)[4:]
	if want := []string{"133.333"}; !slices.Equal(got, want) {
		t.Errorf("small numbers: %v, want %v", got, want)
	}
	times := episodeTimes(t, "small steps", "t,y\n1000000,1\n1000001,2\n", Options{Resample: "0.125"})
	if got := times.Text(1)[0]; got != "1000000.125" {
		t.Errorf("small steps: %s", got)
	}
}
