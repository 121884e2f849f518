//! The ARO controllers with Cluster API, ASO and Azure played around them: what becomes of whole clusters.

mod fixture;
mod ledger;
mod life;
mod manifests;
mod moving;
mod pausing;
mod versions;
