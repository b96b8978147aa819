// Package lambda stands for github.com/aws/aws-lambda-go/lambda: it calls the handler with an event
// a line, and writes what it returns.
package lambda

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"reflect"
)

// Start runs a handler until the input ends.
func Start[Event, Result any](handler func(context.Context, Event) (Result, error)) {
	input, output := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for input.Scan() {
		var event Event
		answer := map[string]any{}
		err := json.Unmarshal(input.Bytes(), &event)
		if err == nil {
			answer["returned"], err = handler(context.Background(), event)
		}
		if err != nil {
			kind := reflect.TypeOf(err).Elem().Name()
			answer = map[string]any{"raised": map[string]any{"errorType": kind, "errorMessage": err.Error()}}
		}
		if output.Encode(answer) != nil {
			return
		}
	}
}
