//! What is proved on two servers: the simulator, and a real kube-apiserver where there is one.

mod admission;
mod aro;
mod controllers;
mod crash;
mod definitions;
mod drill;
mod hunt;
mod identities;
mod keeping;
mod kubectl;
mod pipeline;
mod planning;
mod provisioning;
mod refusals;
mod serving;
mod status;
mod target;
mod tenants;
mod unseen;
