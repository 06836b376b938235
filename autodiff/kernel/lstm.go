package kernel

// LSTMForward is the cell of rows with H units each, one after another. A row of z holds 4 blocks of H values: the
// pre-activations of the input, forget, cell and output gates. For each unit:
//
//	i = σ(zᵢ)   f = σ(z_f)   g = tanh(z_g)   o = σ(z_o)
//	cNext = FMA(f, c, i*g)   tanhC = tanh(cNext)   h = o*tanhC
//
// The activations i, f, g, o overwrite z; LSTMBackward needs them, tanhC and c.
// All the other slices have H values for each row; cNext may be c.
func LSTMForward(z, c, cNext, h, tanhC []float32, H int) {
	n := cellRows("LSTMForward", len(c), H) * H
	checkLen("LSTMForward", len(z), 4*n)
	for _, s := range [...][]float32{c, cNext, h, tanhC} {
		checkLen("LSTMForward", len(s), n)
	}
	for i := 0; i < n; i += H {
		j := i + H
		lstmForward(z[4*i:4*j], c[i:j], cNext[i:j], h[i:j], tanhC[i:j])
	}
}

// cellRows is how many rows of H units make n values; it panics if n is no multiple of H. Without units there are
// no rows.
func cellRows(op string, n, H int) int {
	if H <= 0 {
		return 0
	}
	checkLen(op, n, n/H*H)
	return n / H
}

// LSTMBackward is the reverse of LSTMForward, for rows with H units each. act holds
// the activations (4 blocks i, f, g, o for each row), dh the gradient with respect to h, dc in
// the gradient with respect to cNext from the later step. For each unit:
//
//	dc   = FMA(dh*o, 1-tanhC², dc)
//	dz_o = dh*tanhC * (o*(1-o))      dzᵢ = dc*g * (i*(1-i))
//	dz_g = dc*i * (1-g²)             dz_f = dc*cPrev * (f*(1-f))
//	dc   = dc*f
//
// with 1-t² as FMA(-t, t, 1). dc out is the gradient with respect to cPrev; dz
// (4 blocks for each row) is overwritten and may be act.
func LSTMBackward(act, dz, dh, dc, tanhC, cPrev []float32, H int) {
	n := cellRows("LSTMBackward", len(dh), H) * H
	checkLen("LSTMBackward", len(act), 4*n)
	checkLen("LSTMBackward", len(dz), 4*n)
	for _, s := range [...][]float32{dh, dc, tanhC, cPrev} {
		checkLen("LSTMBackward", len(s), n)
	}
	for i := 0; i < n; i += H {
		j := i + H
		lstmBackward(act[4*i:4*j], dz[4*i:4*j], dh[i:j], dc[i:j], tanhC[i:j], cPrev[i:j])
	}
}
