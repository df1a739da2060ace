package host

// Visible is ModelOutput.visible.
func Visible(m ModelOutput) (ModelOutput, int) { return m.visible() }
