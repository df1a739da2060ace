package measure

import "time"

// InTurn times every function, one after the other, so many rounds after two to warm up. Each round begins with another one, so that
// none always follows the same. The result is by function. It ends with the first error. A function times itself, so that what it
// prepares and clears away does not count.
func InTurn(rounds int, each ...func() (time.Duration, error)) ([][]time.Duration, error) {
	const warm = 2
	took := make([][]time.Duration, len(each))
	for round := range rounds + warm {
		for k := range each {
			i := (round + k) % len(each)
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
