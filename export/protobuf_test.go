package export

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestFields(t *testing.T) {
	var data []byte
	data = protowire.AppendVarint(protowire.AppendTag(data, 1, protowire.VarintType), 300)
	data = protowire.AppendString(protowire.AppendTag(data, 20, protowire.BytesType), "text")
	var got []string
	note := func(field protowire.Number, v uint64, b []byte) error {
		got = append(got, fmt.Sprintf("%d:%d:%s", field, v, b))
		return nil
	}
	if err := Fields(data, note); err != nil || strings.Join(got, " ") != "1:300: 20:0:text" {
		t.Errorf("%q, %v", got, err)
	}
	for n := 1; n < len(data); n++ {
		if err := Fields(data[:n], note); n != 3 && !errors.Is(err, ErrMessage) {
			t.Errorf("%d bytes of it: %v", n, err)
		}
	}
	if err := Fields(protowire.AppendFixed32(protowire.AppendTag(nil, 1, protowire.Fixed32Type), 1), note); !errors.Is(err, ErrMessage) {
		t.Errorf("another type: %v", err)
	}
	if err := Fields(data, func(protowire.Number, uint64, []byte) error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("the visitor's error: %v", err)
	}
}
