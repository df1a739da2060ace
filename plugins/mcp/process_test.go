package main

// otherLife runs this test binary as something else, if it was started for that.
func otherLife() (code int, ran bool) { return 0, false }
