package main

import "math"

// interval returns an interval that contains the median of the distribution of the values, with
// at least the given confidence. It is from the k-th smallest to the k-th largest value, with
// the largest k that the confidence allows. The only assumption is that the values are
// independent: each is below the median as often as above it, so the number below is binomial
// with 1/2, as in the sign test (H. A. David, H. N. Nagaraja, Order Statistics, 3rd edition,
// section 7.1). The values must be sorted. confidence is that of the interval: 1 - 2 P(B(n,
// 1/2) < k). ok is false if even the smallest and the largest value have too little confidence:
// for 0.95, with fewer than six values.
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

// binomial returns the probability of k heads in n tosses of a coin.
func binomial(n, k int) float64 {
	lgamma := func(x int) float64 {
		v, _ := math.Lgamma(float64(x + 1))
		return v
	}
	return math.Exp(lgamma(n) - lgamma(k) - lgamma(n-k) - float64(n)*math.Ln2)
}

// middle returns the median of sorted values; if their number is even, the mean of the two in
// the middle.
func middle(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
