//! What the controller of AROControlPlane decides, case by case. Regressions are named after their place in
//! facts/aro-controllers.md.

mod conditions;
mod deletion;
mod gates;
mod input;
mod key_faults;
mod keys;
mod rotation;
mod secrets;

const KIND: &str = "AROControlPlane";
