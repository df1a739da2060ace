package schema

// Limits bound what is read before any engine sees it (T1 to T6). If zero, each is the default it names.
type Limits struct {
	Bytes    int // of the text; 1 MiB
	Depth    int // nested objects and arrays, where the root counts as 1; 200
	Values   int // objects, arrays, strings, numbers, booleans and nulls together; 1,000,000
	Key      int // bytes of one decoded member name; 1 MiB
	Members  int // of one object, repeated names included; 100,000
	Digits   int // of one number before its exponent; 400
	Exponent int // the largest exponent of a number, and its negative the smallest; 400
}

// withDefaults fills what is zero.
func (l Limits) withDefaults() Limits {
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	set(&l.Bytes, 1<<20)
	set(&l.Depth, 200)
	set(&l.Values, 1_000_000)
	set(&l.Key, 1<<20)
	set(&l.Members, 100_000)
	set(&l.Digits, 400)
	set(&l.Exponent, 400)
	return l
}
