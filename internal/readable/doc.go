// Package readable formats text for people: durations, large numbers, amounts with their units, and tables with aligned
// columns.
//
// It does not know what the numbers mean or where the text goes.
package readable
