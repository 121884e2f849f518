//! Tests that are about more than one file of the crate. What is expected here was seen of the API
//! server's own libraries (1.34).

mod faults;
mod verdict;
