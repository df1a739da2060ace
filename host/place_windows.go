package host

// walkPlace does nothing: modes say nothing here, and lists of rights are not read.
func walkPlace(string) error { return nil }
