//go:build long

package eval_test

// everyPicture is true where the pictures of a protocol are drawn for each environment, and not for one alone.
const everyPicture = true
