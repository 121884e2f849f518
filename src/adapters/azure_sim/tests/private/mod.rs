//! Private hosted clusters from nothing to ready and back, while everything around our controllers is played.

mod changes;
mod credentials;
mod drift;
mod endings;
mod front;
mod kills;
mod life;
mod neighbors;
mod public;
mod scene;
mod shared_ends;
mod takeover;
