package main

import (
	"encoding/json"
	"errors"

	"github.com/toolhost/toolhost/plugins/webfetch/internal/fetch"
	"github.com/toolhost/toolhost/pluginsdk"
)

// forModel gives a failed fetch its data: kind, url and, where one was refused, address (BI-23). Any other
// error stays as it is.
func forModel(err error) error {
	var fe *fetch.Error
	if !errors.As(err, &fe) {
		return err
	}
	data, jsonErr := json.Marshal(fe)
	if jsonErr != nil {
		return err
	}
	return &pluginsdk.Error{Message: fe.Error(), Data: data, Err: err}
}
