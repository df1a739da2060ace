package confine

// Status is the exit status of the helper when the program was not executed.
const Status = 125
