//! Private hosted clusters from nothing to ready and back, while everything around our controllers is played.

mod life;
mod neighbors;
mod scene;
