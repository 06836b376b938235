// Package browser tests the page in a real browser, apart from the main module, which does not need one. It takes
// Chromium from $CHROME or from the usual places, and is skipped where there is none.
//
//	cd web/_browser && go test ./...
//
// With SCREENSHOTS=DIR it keeps pictures of every view in DIR.
package browser
