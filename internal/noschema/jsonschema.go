// Package jsonschema stands in for github.com/santhosh-tekuri/jsonschema/v6, which
// mcp-go links for checking arguments against schemas and which peermux never has
// it do. The real one compiles every draft of JSON Schema before main, also for
// `peermux badge`: 4 to 5 ms of each command, more than the rest of its start
// (v6.0.2). Here nothing is compiled, and a schema that could not be compiled is
// not checked against (mcp-go v1.2.1).
//
// It is a module of its own, which go.mod puts in the other's place.
package jsonschema

import (
	"encoding/json"
	"errors"
	"io"
)

// errOff is all that a schema has to say.
var errOff = errors.New("json schemas are not checked here")

// Schema is a compiled schema; there is none.
type Schema struct{}

// Validate always fails.
func (*Schema) Validate(any) error { return errOff }

// Compiler compiles nothing.
type Compiler struct{}

// NewCompiler returns one.
func NewCompiler() *Compiler { return &Compiler{} }

// AddResource always fails, which leaves the schema out.
func (*Compiler) AddResource(string, any) error { return errOff }

// Compile always fails.
func (*Compiler) Compile(string) (*Schema, error) { return nil, errOff }

// ValidationError is what a caller looks for in an error; no error is one.
type ValidationError struct {
	InstanceLocation []string
	ErrorKind        any
	Causes           []*ValidationError
}

func (*ValidationError) Error() string { return errOff.Error() }

// UnmarshalJSON decodes a document.
func UnmarshalJSON(r io.Reader) (any, error) {
	var v any
	err := json.NewDecoder(r).Decode(&v)
	return v, err
}
