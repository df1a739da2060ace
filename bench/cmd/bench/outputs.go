package main

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/bench/bare"
	"github.com/toolhost/toolhost/bench/peer"
	"github.com/toolhost/toolhost/bench/report"
)

const mib = 1 << 20

// outputs compares answers that are one large text: of a tool without an output schema, as JSON that is ready and as a Go string that
// the SDK encodes, and of a unary gRPC method.
func outputs(o *options) ([]report.Row, error) {
	var rows []report.Row
	for _, size := range []int{mib, 16 * mib} {
		wire, than := o.program("toolplugin-wire"), fmt.Sprintf("go-plugin, unary gRPC, %d MiB", size/mib)
		ready, text := fmt.Sprintf("%d MiB of JSON, one at a time", size/mib), fmt.Sprintf("%d MiB as a Go string", size/mib)
		input := fmt.Sprintf(`{"bytes":%d}`, size)
		got, err := takeTurns([]peer.Kind{
			peer.ToolhostTool(ready, wire, o.state, "ready", input),
			peer.ToolhostTool(text, wire, o.state, "text", input),
			peer.Local(than, func() (func() error, func(), error) {
				b, err := bare.Start(o.program("bareplugin"))
				if err != nil {
					return nil, nil, err
				}
				return func() error { return answer(b, size) }, b.Close, nil
			}),
		}, []int{1}, o.pick(9, 3), time.Duration(o.pick(400, 200))*time.Millisecond)
		if err != nil {
			return nil, err
		}
		rate := func(name string) float64 { return got[name][1].Rate * float64(size) / 1e6 }
		row := report.Row{Group: "Large outputs", Name: ready, Value: rate(ready), Unit: "MB/s", Than: than, Other: rate(than)}
		if size == 16*mib {
			row.Target = report.AtLeast(0.8, 1.0)
		}
		rows = append(rows, row, report.Row{Group: row.Group, Name: text, Value: rate(text), Unit: "MB/s", Than: than, Other: rate(than)})
	}
	return rows, nil
}

// answer has a bare plugin answer with a text.
func answer(b *bare.Running, size int) error {
	ctx, cancel := context.WithTimeout(context.Background(), bare.Limit)
	defer cancel()
	text, err := b.Text(ctx, size)
	if err == nil && len(text) != size {
		err = fmt.Errorf("%d of %d bytes came", len(text), size)
	}
	return err
}
