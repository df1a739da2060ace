package measure

import (
	"math/rand/v2"
	"time"
)

// InTurn times every function, one after the other, so many rounds after two to warm up, in an order that each round shuffles: none
// always follows the same. The result is by function. It ends with the first error. A function times itself, so that what it prepares
// and clears away does not count.
func InTurn(rounds int, each ...func() (time.Duration, error)) ([][]time.Duration, error) {
	const warm = 2
	took := make([][]time.Duration, len(each))
	for round := range rounds + warm {
		for _, i := range rand.Perm(len(each)) {
			d, err := each[i]()
			if err != nil {
				return nil, err
			}
			if round >= warm {
				took[i] = append(took[i], d)
			}
		}
	}
	return took, nil
}
