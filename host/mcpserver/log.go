package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"time"

	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// logParams are the parameters of notifications/message.
type logParams struct {
	Level  string          `json:"level"`
	Logger string          `json:"logger"` // the plugin's name
	Data   json.RawMessage `json:"data"`   // the text, or {"message":...,"attributes":{...}}
}

// levels are MCP's, from the least to the most severe.
var levels = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// threshold is the least slog level of what a client wants that asked for an MCP level. ok is false if there is no
// such level.
func threshold(level string) (least slog.Level, ok bool) {
	switch level {
	case "debug":
		return slog.LevelDebug, true
	case "info":
		return slog.LevelInfo, true
	case "notice":
		return slog.LevelInfo + 1, true
	case "warning":
		return slog.LevelWarn, true
	case "error":
		return slog.LevelError, true
	}
	for _, l := range levels {
		if l == level {
			return slog.LevelError + 1, true // no plugin can say anything so severe
		}
	}
	return 0, false
}

// levelOf is the MCP level of a record.
func levelOf(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warning"
	}
	return "error"
}

// never is above every level.
const never = slog.Level(1 << 20)

// The bounds of a record that a client gets (T12).
const (
	maxAttrs    = 64
	maxAttr     = 4 << 10
	maxLogText  = 16 << 10
	maxLogDepth = 8
)

// logHandler hands the records of a call to whoever attends it. It never blocks.
type logHandler struct {
	flight *flight
	fields []slog.Attr // with their groups around them
	groups []string
}

// Enabled reports whether somebody wants it.
func (h logHandler) Enabled(_ context.Context, l slog.Level) bool { return h.flight.wantsLog(l) }

// Handle queues the record.
func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := append([]slog.Attr(nil), h.fields...)
	var own []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		own = append(own, a)
		return len(own) < maxAttrs
	})
	attrs = append(attrs, inGroups(h.groups, own)...)
	data := rawjson.Encode(logData(r.Message, attrs))
	h.flight.note(note{log: &logParams{levelOf(r.Level), h.flight.tool.Plugin, data}, level: r.Level, size: len(data)})
	return nil
}

// WithAttrs returns a handler whose records have these too.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.fields = append(append([]slog.Attr(nil), h.fields...), inGroups(h.groups, attrs)...)
	return h
}

// WithGroup returns a handler whose further attributes are in a group.
func (h logHandler) WithGroup(name string) slog.Handler {
	if name != "" {
		h.groups = append(append([]string(nil), h.groups...), name)
	}
	return h
}

func inGroups(groups []string, attrs []slog.Attr) []slog.Attr {
	for i := len(groups) - 1; i >= 0 && len(attrs) > 0; i-- {
		attrs = []slog.Attr{{Key: groups[i], Value: slog.GroupValue(attrs...)}}
	}
	return attrs
}

// logData is the data of a record: the text alone, or with its attributes under a member of their own, where they
// cannot pass for anything else.
func logData(message string, attrs []slog.Attr) any {
	message = project.Clip(message, maxLogText)
	left := maxAttrs
	fields := attrValues(attrs, &left, maxLogDepth)
	if len(fields) == 0 {
		return message
	}
	return map[string]any{"message": message, "attributes": fields}
}

// attrValues makes attributes what JSON can say, as many as are left and so deep.
func attrValues(attrs []slog.Attr, left *int, depth int) map[string]any {
	fields := map[string]any{}
	for _, a := range attrs {
		if *left == 0 {
			break
		}
		v := a.Value.Resolve()
		if v.Kind() != slog.KindGroup {
			*left--
			fields[project.Clip(a.Key, maxAttr)] = attrValue(v)
			continue
		}
		inner := map[string]any{}
		if depth > 0 {
			inner = attrValues(v.Group(), left, depth-1)
		}
		into := fields // a group without a name is inline, as slog has it
		if a.Key != "" && len(inner) > 0 {
			key := project.Clip(a.Key, maxAttr)
			if same, ok := fields[key].(map[string]any); ok {
				into = same
			} else {
				into = map[string]any{}
				fields[key] = into
			}
		}
		maps.Copy(into, inner)
	}
	return fields
}

func attrValue(v slog.Value) any {
	switch v.Kind() {
	case slog.KindBool:
		return v.Bool()
	case slog.KindInt64:
		return v.Int64()
	case slog.KindUint64:
		return v.Uint64()
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano)
	}
	return project.Clip(v.String(), maxAttr)
}
