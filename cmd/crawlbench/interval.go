package main

import "math"

// interval is where the median of what the values are samples of lies, with at least
// that confidence: between the k-th smallest and the k-th largest of them, with the
// largest k that the confidence allows. It asks nothing of their distribution but that
// they are independent: each is below the median as often as above it, so that the
// number below is binomial with 1/2, as in the sign test (H. A. David, H. N. Nagaraja,
// Order Statistics, 3rd edition, section 7.1). Sorted are the values in order;
// confidence is what the interval has: 1 - 2 P(B(n, 1/2) < k). It is not ok where even
// the smallest and the largest are too near: below six values, for 0.95.
func interval(sorted []float64, atLeast float64) (low, high, confidence float64, ok bool) {
	n := len(sorted)
	below := 0.0
	for k := 1; 2*k <= n; k++ {
		below += binomial(n, k-1)
		if 1-2*below < atLeast {
			break
		}
		low, high, confidence, ok = sorted[k-1], sorted[n-k], 1-2*below, true
	}
	return low, high, confidence, ok
}

// binomial is how likely k of n tosses of a coin are heads.
func binomial(n, k int) float64 {
	lgamma := func(x int) float64 {
		v, _ := math.Lgamma(float64(x + 1))
		return v
	}
	return math.Exp(lgamma(n) - lgamma(k) - lgamma(n-k) - float64(n)*math.Ln2)
}

// middle is the median of values in order: of an even number, the mean of the two in
// the middle.
func middle(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
