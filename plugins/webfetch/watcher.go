package main

import (
	"context"

	"github.com/toolhost/toolhost/plugins/webfetch/internal/fetch"
	"github.com/toolhost/toolhost/pluginsdk"
)

// watcher logs how the input of a call arrives. It holds nothing and decides nothing: what is refused is
// refused by the fetch.
type watcher struct{ fetcher *fetch.Fetcher }

func (watcher) start(_ context.Context, call *pluginsdk.Call) error {
	call.Logger().Debug("input begins")
	return nil
}

func (watcher) delta(_ context.Context, call *pluginsdk.Call, delta string) error {
	call.Logger().Debug("input goes on", "bytes", len(delta))
	return nil
}

// available logs early that the URL will be refused.
func (w watcher) available(_ context.Context, call *pluginsdk.Call, in fetch.Input) error {
	if err := w.fetcher.Check(in.URL); err != nil {
		call.Logger().Warn("the URL will be refused", "cause", err.Error())
	}
	return nil
}
