//! The webhook over real connections, and its certificates over years.

mod certificates;
mod crowd;
mod keeper;
mod replicas;
mod served;
