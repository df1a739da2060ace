package main

import (
	"io"
	"math"

	"github.com/schollz/progressbar/v3"

	"github.com/toolhost/toolhost/host"
)

// progress is the bar on stderr while a tool reports how far it is. It is drawn on terminals only.
type progress struct {
	out   *terminal
	tool  string
	bar   *progressbar.ProgressBar // nil until the first report
	known bool                     // bar has a total
}

const (
	barSteps = 1000
	barWidth = 20 // columns of the bar itself
	barRest  = 12 // columns around it: percentage, brackets, blanks
)

// report draws the state that the tool reported.
func (p *progress) report(e host.Progress) {
	if !p.out.tty {
		return
	}
	text := p.tool
	if e.Message != "" {
		text += ": " + oneLine(e.Message)
	}
	text = clip(text, max(minimum, p.out.columns()-barWidth-barRest))
	first := p.bar == nil
	p.out.redraw(func() {
		if known := e.Total > 0; first || known != p.known || p.bar.IsFinished() {
			p.hide()
			p.bar, p.known = newBar(p.out.file, known), known
		}
		p.bar.Describe(text)
		if p.known {
			_ = p.bar.Set(steps(e.Progress, e.Total)) // fails only after 100 %, which steps rules out
		} else {
			_ = p.bar.Set(0)
		}
	})
	if first && p.bar != nil { // not while the terminal is held
		p.out.stick(p)
	}
}

// done takes the bar away.
func (p *progress) done() {
	if p.bar != nil {
		p.out.stick(nil)
		p.bar = nil
	}
}

func (p *progress) hide() {
	if p.bar != nil {
		_, _ = io.WriteString(p.out.file, "\r\x1b[2K")
	}
}

func (p *progress) show() { _, _ = io.WriteString(p.out.file, p.bar.String()) }

func newBar(w io.Writer, known bool) *progressbar.ProgressBar {
	most := -1
	if known {
		most = barSteps
	}
	return progressbar.NewOptions(most,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine of its own: it turns with each report
	)
}

func steps(done, total float64) int {
	return int(math.Max(0, math.Min(1, done/total)) * barSteps)
}
