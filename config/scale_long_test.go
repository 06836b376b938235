//go:build long

package config_test

// pixelByPixel is true where an autoregression is fitted to the 1,024 pixels of an image.
const pixelByPixel = true
