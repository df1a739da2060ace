package host

// Visible is ModelOutput.visible.
func Visible(m ModelOutput) (ModelOutput, int) { return m.visible() }

// CheckPluginPlace is checkPlace.
var CheckPluginPlace = checkPlace
