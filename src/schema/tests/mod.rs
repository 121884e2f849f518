//! The module's tests that are about more than one of its files.

mod findings;
