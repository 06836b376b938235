package readable

import (
	"bytes"
	"testing"
	"time"
)

func TestAmounts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Group(0), "0"},
		{Group(999), "999"},
		{Group(1000), "1,000"},
		{Group(1234567), "1,234,567"},
		{Bytes(512), "512 B"},
		{Bytes(1536), "1.5 KiB"},
		{Bytes(5 << 20), "5.0 MiB"},
		{Bytes(3 << 40), "3.0 TiB"},
		{Short(7 * time.Second), "7s"},
		{Short(65 * time.Second), "1m05s"},
		{Short(3*time.Hour + 7*time.Minute), "3h07m"},
		{Short(52 * time.Hour), "2d04h"},
		{Digits(1180), "1180"},
		{Digits(1.18), "1.18"},
		{Digits(0.01234), "0.0123"},
		{Digits(2), "2"},
		{Digits(0), "0"},
		{Digits(123456), "123456"},
		{Count(1, "worker"), "1 worker"},
		{Count(0, "worker"), "0 workers"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	table := NewTable("horizon", "R²", "paper")
	table.Row("1", "0.9995", ".999")
	table.Row("30", "0.95", ".956")
	if _, err := table.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	want := "horizon      R²  paper\n----------------------\n1        0.9995   .999\n30         0.95   .956\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
