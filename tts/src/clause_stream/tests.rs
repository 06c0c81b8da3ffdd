//! Clauses out of streams, in any split.
