// Package schema reads JSON within budgets, compiles JSON Schemas, fills their defaults and checks documents
// against them.
//
// The work is split in two. The engine (santhosh-tekuri/jsonschema/v6, imported here and nowhere else) checks
// a schema against its meta-schema and resolves references, ids and anchors. The walk over a document is our
// own, on nodes built from what the engine compiled, because the engine's own validation can neither be
// stopped early (T6) nor given a cost bound (T2, T4), panics on large exponents (T1), and cannot say which
// values are sensitive (b15). Tests hold the two against each other.
//
// A Document is used by one goroutine at a time; a Schema by any number.
package schema
