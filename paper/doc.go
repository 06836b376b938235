// Package paper is the paper as one program: its experiments as a list of runs, the claims that they decide, and the
// report with tables, figures and the paper's own numbers beside them.
//
//	study       trains the list, some runs at a time, and measures each by protocols; it goes on where it was stopped
//	plan        which runs there are, at which size
//	claims      what the paper says, and what decides it
//	document    text, tables and figures as one HTML page that opens from disk, and as Markdown
//	runreport   what single runs reached, as such a document, for the command report
//
// The package does not know how a run is led, nor how results are measured.
package paper
