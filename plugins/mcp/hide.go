package main

import (
	"context"
	"log/slog"
	"strings"
)

// hider replaces the values that the settings keep to themselves, such as tokens, in text from elsewhere (T37): those of headers, and of
// variables whose names sound like a secret's. Values of less than 8 bytes are left alone, as they may be words.
func hider(s settings) func(string) string {
	var pairs []string
	add := func(value string) {
		if len(value) >= 8 {
			pairs = append(pairs, value, "…")
		}
	}
	for _, v := range s.Headers {
		add(v)
		if _, token, ok := strings.Cut(v, " "); ok { // such as Bearer's
			add(token)
		}
	}
	for name, v := range s.Env {
		if soundsSecret(name) {
			add(v)
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

// hidingLog is a handler that hides in messages, and in attributes that are text.
type hidingLog struct {
	slog.Handler
	hide func(string) string
}

func (h hidingLog) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h hidingLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	hidden := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		hidden[i] = h.attr(a)
	}
	return hidingLog{h.Handler.WithAttrs(hidden), h.hide}
}

func (h hidingLog) WithGroup(name string) slog.Handler {
	return hidingLog{h.Handler.WithGroup(name), h.hide}
}

func (h hidingLog) attr(a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		return slog.String(a.Key, h.hide(err.Error()))
	}
	if a.Value.Kind() == slog.KindString {
		return slog.String(a.Key, h.hide(a.Value.String()))
	}
	return a
}
