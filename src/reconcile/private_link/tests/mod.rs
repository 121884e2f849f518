//! Tests of what the three controllers decide, without a server.

mod actors;
mod attackers;
mod credentials;
mod deletion;
mod endpoint;
mod hand_over;
mod names;
mod observer;
mod pause;
mod platform;
mod scene;
mod shapes;
mod traps;
