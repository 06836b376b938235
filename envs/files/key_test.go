package files

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// salesOf is a table of sales of items in stores, day by day: neither the store nor the item alone tells series apart.
func salesOf(stores ...string) string {
	var b strings.Builder
	b.WriteString("date,store,item,sales\n")
	for day := range 6 {
		for s, store := range stores {
			for item := range 3 {
				fmt.Fprintf(&b, "2023-01-%02d,%s,%d,%d\n", day+1, store, item+1, 10*s+day*item%4)
			}
		}
	}
	return b.String()
}

// Two columns that tell recordings apart together are found, whether stores have names or numbers, and read.
func TestKey_OfTwoColumns(t *testing.T) {
	for _, stores := range [][]string{{"A", "B"}, {"1", "2"}} {
		path := filepath.Join(write(t, map[string]string{"a.csv": salesOf(stores...)}), "a.csv")
		d, how, err := ReadGuessed([]string{path}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if how.ID != "store,item" || how.Time != "date" || !slices.Equal(how.Observe, []string{"sales"}) {
			t.Errorf("stores %q: guessed --id %s --time %s --observe %q", stores, how.ID, how.Time, how.Observe)
		}
		if !slices.Equal(d.Key, []string{"store", "item"}) || len(d.Episodes) != 6 {
			t.Fatalf("stores %q: %d recordings by %q, want 6 by store and item", stores, len(d.Episodes), d.Key)
		}
		e := d.Episodes[5]
		if name := stores[1] + "/3"; e.Name != name || !slices.Equal(e.Key, []string{stores[1], "3"}) || e.T != 6 || e.Observations[1] != 12 {
			t.Errorf("stores %q: the last recording is %q with key %q, %d steps and %v, want %s", stores, e.Name, e.Key, e.T, e.Observations, name)
		}
	}
}

// A key of three columns is found behind numbers of rows, and among columns that are no part of it.
func TestKey_OfThreeColumns(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,Date,Country,Store,Product,Holiday,num_sold\n")
	row := 0
	for day := range 30 {
		for _, country := range []string{"Finland", "Norway"} {
			for _, store := range []string{"K", "R"} {
				for product := range 3 {
					fmt.Fprintf(&b, "%d,%d/3/2015,%s,%s,%d,%v,%d\n", row, day+1, country, store, product, day%7 == 0, 100*product+(row*row)%17)
					row++
				}
			}
		}
	}
	path := filepath.Join(write(t, map[string]string{"a.csv": b.String()}), "a.csv")
	d, how, err := ReadGuessed([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if how.ID != "Country,Store,Product" || how.Time != "Date" || !slices.Equal(how.Observe, []string{"Holiday", "num_sold"}) || len(d.Episodes) != 12 {
		t.Errorf("guessed --id %s --time %s --observe %q, %d recordings", how.ID, how.Time, how.Observe, len(d.Episodes))
	}
}

// What is wrong with a key of two columns is said where it is.
func TestKey_Refused(t *testing.T) {
	for _, c := range []struct{ id, table, want string }{
		{"store,article", salesOf("A"), "--id article: there is no such column; there are date, store, item, sales"},
		{"store,store", salesOf("A"), "--id store: it is given as --id too; give every column one meaning"},
		{"item", salesOf("A", "B"), "name a further column that tells recordings apart with --id item,NAME (env.id)"},
		{"store,item", salesOf("A", ""), "line 5, column 2 (store): the cell is empty"},
		{"store,item", "date,store,item,sales\n1,a/b,c,1\n1,a,b/c,2\n", "line 3: the recordings a/b,c and a,b/c have the same name, a/b/c"},
	} {
		path := filepath.Join(write(t, map[string]string{"a.csv": c.table}), "a.csv")
		_, err := Read([]string{path}, Options{Observe: []string{"sales"}, Time: "date", ID: c.id})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("--id %s: %v, want %s", c.id, err, c.want)
		}
	}
}

// Controls of coming steps are those of a recording only if all columns of its key say so.
func TestReadPlan_KeyOfTwoColumns(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"plan.csv": "item,store,price\n1,A,1\n1,B,2\n2,A,3\n2,B,4\n1,B,5\n"}), "plan.csv")
	p, err := ReadPlan(path, []string{"price"}, nil, []string{"store", "item"})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := p.After("B/1", nil, 9, 2)
	if got := fmt.Sprint(rows, err); got != "[[2] [5]] <nil>" {
		t.Errorf("the controls of B/1 are %s, want 2 and 5", got)
	}
}
