//! Keeping a fleet on both servers: who owns what, what is removed, what is put right, what it costs.

mod drift;
mod fights;
mod fixture;
mod labelled;
mod ownership;
mod removal;
mod rolling;
