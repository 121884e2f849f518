//! What is proved on two servers: the simulator, and a real kube-apiserver where there is one. What only the latter can
//! show is shown on it in the gate, on one server for all; the rest if it is asked for, each test on a server of its own.

mod admission;
mod admission_load;
mod aro;
mod connections;
mod controllers;
mod crash;
mod definitions;
mod drill;
mod hosted;
mod hosting;
mod hunt;
mod identities;
mod keeping;
mod kubectl;
mod pipeline;
mod planning;
mod private_fields;
mod provisioning;
mod refusals;
mod serving;
mod shared;
mod status;
mod target;
mod tenants;
mod uninstalling;
mod unseen;
