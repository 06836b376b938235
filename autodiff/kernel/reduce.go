package kernel

// lanes is the number of partial sums of every reduction, whatever the instruction
// set: element i goes into lane i mod 16.
const lanes = 16

// fold32 adds up the lanes by halves: lane i and i+8, then i+4, i+2, i+1.
func fold32(s *[lanes]float32) float32 {
	for w := lanes / 2; w > 0; w /= 2 {
		for i := range w {
			s[i] += s[i+w]
		}
	}
	return s[0]
}

// fold64 is fold32 in float64.
func fold64(s *[lanes]float64) float64 {
	for w := lanes / 2; w > 0; w /= 2 {
		for i := range w {
			s[i] += s[i+w]
		}
	}
	return s[0]
}

// Sum returns Σ x[i], in 16 lanes and then by halves; 0 if x is empty.
func Sum(x []float32) float32 {
	var s [lanes]float32
	for i := 0; i < len(x); i += chunk {
		sumLanes(&s, x[i:min(i+chunk, len(x))])
	}
	return fold32(&s)
}

// SumSquares returns Σ x[i]². The squares are exact in float64 and are summed in
// float64, in 16 lanes and then by halves.
func SumSquares(x []float32) float64 {
	var s [lanes]float64
	for i := 0; i < len(x); i += chunk {
		sumSquaresLanes(&s, x[i:min(i+chunk, len(x))])
	}
	return fold64(&s)
}

// SumRows is
//
//	for i := range m.Rows { dst[i] = Sum(row i of m) }
func SumRows(dst []float32, m Matrix) {
	m.check("SumRows")
	checkLen("SumRows", len(dst), m.Rows)
	if m.empty() {
		clear(dst)
		return
	}
	step := rowsPerCall(m.Cols)
	for i := 0; i < m.Rows; i += step {
		j := min(i+step, m.Rows)
		sumRows(dst[i:j], m.rowRange(i, j))
	}
}

// AddSumColumns is
//
//	for i := range m.Rows { for j := range m.Cols { dst[j] += m[i, j] } }
//
// one chain per column, over ascending rows.
func AddSumColumns(dst []float32, m Matrix) {
	m.check("AddSumColumns")
	checkLen("AddSumColumns", len(dst), m.Cols)
	if m.empty() {
		return
	}
	step := rowsPerCall(m.Cols)
	for i := 0; i < m.Rows; i += step {
		addSumColumns(dst, m.rowRange(i, min(i+step, m.Rows)))
	}
}

// AddRow is
//
//	for i := range dst.Rows { for j := range dst.Cols { dst[i, j] += row[j] } }
func AddRow(dst Matrix, row []float32) {
	dst.check("AddRow")
	checkLen("AddRow", len(row), dst.Cols)
	if dst.empty() {
		return
	}
	step := rowsPerCall(dst.Cols)
	for i := 0; i < dst.Rows; i += step {
		addRow(dst.rowRange(i, min(i+step, dst.Rows)), row)
	}
}

// rowsPerCall returns how many rows of n columns one assembly call gets.
func rowsPerCall(n int) int { return max(1, chunk/n) }
