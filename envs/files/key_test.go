package files

import (
	"fmt"
	"math/rand/v2"
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

// A row that is there twice, columns that were measured, and places in the cycles of the calendar make no key: reading says
// what is wrong, or takes the rows as they come.
func TestKey_NotGuessed(t *testing.T) {
	var promo, measured, cycle strings.Builder
	random := rand.New(rand.NewPCG(1, 2))
	promo.WriteString("date,store,promo,sales\n")
	measured.WriteString("date,f1,f2,f3,f4,f5\n")
	cycle.WriteString("hour,dow,weekno,load\n")
	for day := range 12 {
		for _, store := range []string{"A", "B"} {
			fmt.Fprintf(&promo, "2024-01-%02d,%s,%d,%d.5\n", day+1, store, day%5/3, day*day%7)
		}
	}
	promo.WriteString("2024-01-06,B,1,9.9\n")
	for row := range 400 {
		fmt.Fprintf(&measured, "%d,%d,%d,%d,%d,%d\n", 1900+row/2, random.IntN(5), random.IntN(5), random.IntN(5), random.IntN(5), random.IntN(5))
		fmt.Fprintf(&cycle, "%d,%d,%d,%d\n", row%24, row/24%7, row/24/7, row*row%9)
	}
	for _, c := range []struct{ name, table, id, want string }{
		{"a row twice", promo.String(), "", "name the column that tells recordings apart"},
		{"a row twice in a column of a usual name", strings.Replace(promo.String(), "store", "unique_id", 1), "unique_id", "the time 2024-01-06 is there twice"},
		{"measured", measured.String(), "", "the time 1900 is there twice"},
		{"hours of weeks", cycle.String(), "", ""},
	} {
		path := filepath.Join(write(t, map[string]string{"a.csv": c.table}), "a.csv")
		_, how, err := ReadGuessed([]string{path}, Options{})
		if how.ID != c.id || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: guessed --id %q, %v; want %q, %s", c.name, how.ID, err, c.id, c.want)
		}
	}
}

// A day beyond the 31st, or beside names of recordings, is a time, whatever days are missing; a day of the month is none.
func TestGuess_DaysThatCount(t *testing.T) {
	table := func(header string, last int, row string) string {
		var b strings.Builder
		b.WriteString(header + "\n")
		for day := 1; day <= last; day++ {
			for i := range 3 {
				if day%7 > 0 {
					fmt.Fprintf(&b, row+",%d.5\n", day, i+1, day*day*(i+2)%11)
				}
			}
		}
		return b.String()
	}
	for _, c := range []struct{ table, time, id string }{
		{table("day,store,value", 40, "%d,%d"), "day", "store"},
		{table("day,id,value", 30, "%d,%d"), "day", "id"},
		{table("day,store,value", 30, "%d,%d"), "", ""},
	} {
		path := filepath.Join(write(t, map[string]string{"a.csv": c.table}), "a.csv")
		if how, err := Guess([]string{path}, Options{}); err != nil || how.Time != c.time || how.ID != c.id {
			t.Errorf("%.30q: --time %q --id %q, %v; want %q and %q", c.table, how.Time, how.ID, err, c.time, c.id)
		}
	}
}

// Columns of a key are found where the first rows of a guess have one value of them.
func TestKey_BeyondTheFirstRows(t *testing.T) {
	var b strings.Builder
	b.WriteString("date,store,item,sales\n")
	const days = 3000
	for store := range 2 {
		for item := range 9 {
			for day := range days {
				fmt.Fprintf(&b, "%d,%d,%d,%d.5\n", day, store+1, item+1, day*day%7)
			}
		}
	}
	path := filepath.Join(write(t, map[string]string{"a.csv": b.String()}), "a.csv")
	d, how, err := ReadGuessed([]string{path}, Options{})
	if err != nil || how.ID != "store,item" || len(d.Episodes) != 18 || d.Steps() != 18*days {
		t.Fatalf("guessed --id %s: %v", how.ID, err)
	}
}

// A key has the order of the option, whatever that of the columns is in a file.
func TestKey_OrderOfTheOption(t *testing.T) {
	dir := write(t, map[string]string{
		"a.csv": "day,store,item,sales\n1,A,1,3\n2,A,1,4\n",
		"b.csv": "item,day,sales,store\n2,1,5,A\n2,2,6,A\n",
	})
	d, err := Read([]string{filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")}, Options{Observe: []string{"sales"}, Time: "day", ID: "item,store"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Key, []string{"item", "store"}) || d.Episodes[0].Name != "1/A" || d.Episodes[1].Name != "2/A" {
		t.Errorf("recordings %s and %s by %q, want 1/A and 2/A by item and store", d.Episodes[0].Name, d.Episodes[1].Name, d.Key)
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

// Controls of coming steps are joined by the columns of a key that the plan has.
func TestReadPlan_KeyOfTwoColumns(t *testing.T) {
	for _, c := range []struct{ plan, want string }{
		{"item,store,price\n1,A,1\n1,B,2\n2,A,3\n2,B,4\n1,B,5\n", "[[2] [5]] <nil>"},
		{"store,price\nA,1\nB,2\nB,5\n", "[[2] [5]] <nil>"},
		{"price\n2\n5\n", "[[2] [5]] <nil>"},
		{"store,price\nB,1\nC,2\n", "it has no row for step 2 of the forecast of B/1"},
	} {
		path := filepath.Join(write(t, map[string]string{"plan.csv": c.plan}), "plan.csv")
		p, err := ReadPlan(path, []string{"price"}, nil, []string{"store", "item"})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := p.After([]string{"B", "1"}, nil, 9, 2)
		if got := fmt.Sprint(rows, err); !strings.Contains(got, c.want) {
			t.Errorf("the controls of B/1 in %q are %s, want %s", c.plan, got, c.want)
		}
	}
}
