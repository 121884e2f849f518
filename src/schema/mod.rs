//! What a value may be, what belongs to whom, and what an apply makes of it.

pub mod strategic;
