package kernel

// LSTMForward is the cell of one row with H units. z holds 4 blocks of H values:
// the pre-activations of the input, forget, cell and output gates. For each unit:
//
//	i = σ(zᵢ)   f = σ(z_f)   g = tanh(z_g)   o = σ(z_o)
//	cNext = FMA(f, c, i*g)   tanhC = tanh(cNext)   h = o*tanhC
//
// The activations i, f, g, o overwrite z; LSTMBackward needs them, tanhC and c.
// All the other slices have length H; cNext may be c.
func LSTMForward(z, c, cNext, h, tanhC []float32, H int) {
	checkLen("LSTMForward", len(z), 4*H)
	for _, s := range [...][]float32{c, cNext, h, tanhC} {
		checkLen("LSTMForward", len(s), H)
	}
	if H > 0 {
		lstmForward(z, c, cNext, h, tanhC)
	}
}

// LSTMBackward is the reverse of LSTMForward, for one row with H units. act holds
// the activations (4 blocks i, f, g, o), dh the gradient with respect to h, dc in
// the gradient with respect to cNext from the later step. For each unit:
//
//	dc   = FMA(dh*o, 1-tanhC², dc)
//	dz_o = dh*tanhC * (o*(1-o))      dzᵢ = dc*g * (i*(1-i))
//	dz_g = dc*i * (1-g²)             dz_f = dc*cPrev * (f*(1-f))
//	dc   = dc*f
//
// with 1-t² as FMA(-t, t, 1). dc out is the gradient with respect to cPrev; dz
// (4 blocks) is overwritten and may be act.
func LSTMBackward(act, dz, dh, dc, tanhC, cPrev []float32, H int) {
	checkLen("LSTMBackward", len(act), 4*H)
	checkLen("LSTMBackward", len(dz), 4*H)
	for _, s := range [...][]float32{dh, dc, tanhC, cPrev} {
		checkLen("LSTMBackward", len(s), H)
	}
	if H > 0 {
		lstmBackward(act, dz, dh, dc, tanhC, cPrev)
	}
}
