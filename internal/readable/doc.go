// Package readable sets what people read: durations, large numbers, amounts with their units, and tables in aligned columns.
//
// It does not know what the numbers mean or where the text goes.
package readable
