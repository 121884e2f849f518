//! kubectl against both servers: what it prints and how it ends.

mod behaviours;
mod fixture;
mod shown;
