package gibbs

import (
	"math"
	"slices"
	"testing"
)

// The points lie on both sides of the change of the envelope, |c| = 2.
var polyaGammaPoints = []float64{0, 1e-3, 0.5, -1.3, 1.99, 2.01, -3, 6, 20, 80, 700}

func polyaGammaMoments(c float64) (mean, variance float64) {
	c = math.Abs(c)
	if c < 1e-2 {
		return 0.25 - c*c/48, 1.0/24 - c*c/120
	}
	mean = math.Tanh(c/2) / (2 * c)
	// (sinh c − c)/(4c³cosh²(c/2)), divided by e^c above and below.
	e := math.Exp(-c)
	half := (1 + e) / 2
	return mean, ((1-e*e)/2 - c*e) / (4 * c * c * c * half * half)
}

func TestPolyaGamma_HasTheMoments(t *testing.T) {
	const n = 100000
	for i, c := range polyaGammaPoints {
		s := testSource(600 + uint32(i))
		mean, variance := polyaGammaMoments(c)
		sum, square, fourth := 0.0, 0.0, 0.0
		for range n {
			d := polyaGamma(&s, c) - mean
			sum += d / n
			square += d * d / n
			fourth += d * d * d * d / n
		}
		if z := sum / math.Sqrt(variance/n); math.Abs(z) > 4.5 {
			t.Errorf("c = %v: mean %v, want %v: %.1f standard errors", c, mean+sum, mean, z)
		}
		if z := (square - variance) / math.Sqrt((fourth-square*square)/n); math.Abs(z) > 4.5 {
			t.Errorf("c = %v: variance %v, want %v: %.1f standard errors", c, square, variance, z)
		}
	}
}

// gammaSum draws PG(1, c) by its definition, (1/2π²) Σ_k Γ(1,1)/((k−½)² + c²/4π²), with the terms beyond replaced by their mean.
func gammaSum(s *source, c float64, terms int) float64 {
	square := c * c / (4 * math.Pi * math.Pi)
	sum, mean := 0.0, 0.0
	for k := 1; k <= terms; k++ {
		d := (float64(k)-0.5)*(float64(k)-0.5) + square
		sum -= math.Log(1-s.stream.Float64()) / d
		mean += 1 / d
	}
	total, _ := polyaGammaMoments(c)
	return sum/(2*math.Pi*math.Pi) + total - mean/(2*math.Pi*math.Pi)
}

// A two-sample Kolmogorov–Smirnov test, at a level of one in ten thousand.
func TestPolyaGamma_IsTheSumOfGammas(t *testing.T) {
	t.Parallel()
	const n = gammaDraws
	for i, c := range polyaGammaPoints {
		a, b := testSource(700+uint32(i)), testSource(800+uint32(i))
		x := draw(n, func() float64 { return polyaGamma(&a, c) })
		y := draw(n, func() float64 { return gammaSum(&b, c, 300) })
		slices.Sort(x)
		slices.Sort(y)
		distance, j := 0.0, 0
		for k, v := range x {
			for j < n && y[j] <= v {
				j++
			}
			distance = math.Max(distance, math.Abs(float64(k+1-j)/n))
		}
		if limit := 2.23 * math.Sqrt(2.0/n); distance > limit {
			t.Errorf("c = %v: distance %.4f, want below %.4f", c, distance, limit)
		}
	}
}

// E e^{−ωs} = cosh(c/2)/cosh(√(c²/4 + s/2)), the identity on which the sampler of hyperplanes rests.
func TestPolyaGamma_HasTheLaplaceTransform(t *testing.T) {
	const n = 100000
	for i, c := range []float64{0, 1, 2.5, 8} {
		s := testSource(900 + uint32(i))
		for _, at := range []float64{0.5, 4, 30} {
			sum, square := 0.0, 0.0
			for range n {
				e := math.Exp(-at * polyaGamma(&s, c))
				sum += e / n
				square += e * e / n
			}
			want := math.Cosh(c/2) / math.Cosh(math.Sqrt(c*c/4+at/2))
			if se := math.Sqrt((square - sum*sum) / n); math.Abs(sum-want) > 4.5*se {
				t.Errorf("c = %v, s = %v: %v, want %v ± %v", c, at, sum, want, se)
			}
		}
	}
}

func TestPolyaGamma_Constants(t *testing.T) {
	if want := 2 * math.Erfc(math.Sqrt(math.Pi)/2); math.Abs(lowMass-want) > 1e-15 {
		t.Errorf("lowMass = %v, want %v", lowMass, want)
	}
	if want := 3 * math.Exp(-2*math.Pi); firstTerm < want || firstTerm > want*1.000001 {
		t.Errorf("firstTerm = %v, want a little above %v", firstTerm, want)
	}
}

func BenchmarkPolyaGamma(b *testing.B) {
	for _, c := range []float64{0, 1.5, 3, 20} {
		b.Run("", func(b *testing.B) {
			s := testSource(1)
			for b.Loop() {
				polyaGamma(&s, c)
			}
		})
	}
}
