package main

import (
	"math"
	"sort"
)

// percentile sorts `all`.
func percentile(all []float64, p float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sort.Float64s(all)
	at := int(math.Ceil(p/100*float64(len(all)))) - 1
	return all[min(max(at, 0), len(all)-1)]
}
