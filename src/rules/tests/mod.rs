//! Tests of all rules together.

mod boundaries;
