package autodiff

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestDoc_ListsEveryOperation of the tape in its table.
func TestDoc_ListsEveryOperation(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "# Operations")
	listed := map[string]bool{}
	for _, word := range regexp.MustCompile(`\w+`).FindAllString(table, -1) {
		listed[word] = true
	}
	tape := reflect.TypeFor[*Tape]()
	for i := range tape.NumMethod() {
		if name := tape.Method(i).Name; !notOperations[name] && !listed[name] {
			t.Errorf("the table of the package comment lacks %s", name)
		}
	}
}
