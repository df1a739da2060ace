package main

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
)

// reports are the tools that say something while they run.
func reports() []pluginsdk.Definition {
	return []pluginsdk.Definition{
		simple("test_tool_with_logging", "Logs three records while it runs.", func(ctx context.Context, c *pluginsdk.Call) (string, error) {
			for i, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
				if err := pause(ctx, i); err != nil {
					return "", err
				}
				c.Logger().Info(text)
			}
			return "Three records were logged.", nil
		}),
		simple("test_tool_with_progress", "Reports its progress three times while it runs.", func(ctx context.Context, c *pluginsdk.Call) (string, error) {
			for i, done := range []float64{0, 50, 100} {
				if err := pause(ctx, i); err != nil {
					return "", err
				}
				c.Progress(done, 100, "")
			}
			return "Progress was reported three times.", pauseAfter(ctx)
		}),
		simple("test_logging_tool", "Logs one record.", func(_ context.Context, c *pluginsdk.Call) (string, error) {
			c.Logger().Info("This record is for clients that asked for it.")
			return "One record was logged.", nil
		}),
	}
}

// step is the time between two reports: whoever reads them sees each.
const step = 50 * time.Millisecond

// pause waits before every report but the first. The error is that of ctx.
func pause(ctx context.Context, i int) error {
	if i == 0 {
		return nil
	}
	return pauseAfter(ctx)
}

func pauseAfter(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(step):
		return nil
	}
}
