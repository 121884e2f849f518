//! The webhook over real connections, and its certificates over years.

mod certificates;
mod keeper;
mod replicas;
mod served;
