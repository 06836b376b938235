package store

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// tableHead begins every table that WriteCSV writes.
const tableHead = "step,split,time,seconds"

// IsTable reports whether a file begins as the tables of WriteCSV do.
func IsTable(path string) bool {
	head, err := disk.Head(path, len(tableHead))
	return err == nil && string(head) == tableHead
}

// WriteCSV writes the metrics of the named run as a table with a row for each record: step, split, time, seconds and a
// column for every metric, empty where a record lacks it. The metrics are in the order of their names. The file of
// metrics is read twice, first for the names, so that its records need no memory; records that are added in between
// are written with the columns that are known.
func WriteCSV(w io.Writer, dir, name string) error {
	var columns []string
	known := map[string]bool{}
	err := ReadMetrics(dir, name, func(r Record) error {
		for metric := range r.Values {
			if !known[metric] {
				known[metric] = true
				columns = append(columns, metric)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(columns)
	table := csv.NewWriter(w)
	if err := table.Write(append(strings.Split(tableHead, ","), columns...)); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	row := make([]string, 4+len(columns))
	err = ReadMetrics(dir, name, func(r Record) error {
		row[0], row[1], row[2] = strconv.FormatUint(r.Step, 10), r.Split, r.Time.UTC().Format(time.RFC3339Nano)
		row[3] = strconv.FormatFloat(r.Seconds, 'g', -1, 64)
		for i, metric := range columns {
			row[4+i] = ""
			if v, found := r.Values[metric]; found {
				row[4+i] = strconv.FormatFloat(v, 'g', -1, 64)
			}
		}
		return table.Write(row)
	})
	table.Flush()
	if err == nil {
		err = table.Error()
	}
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}
