//! Credentials against an authority on loopback.
