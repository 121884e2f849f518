//! The room's tests that are about more than one of its files. What is expected here was seen of the
//! API server's own libraries (1.34).

mod faults;
mod findings;
mod normal;
mod validation;
mod verdict;
