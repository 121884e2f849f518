//! The ARO controllers with Cluster API, ASO and Azure played around them: what becomes of whole clusters.

mod capz;
mod clients;
mod clusterctl;
mod cutoff;
mod deleting;
mod fixture;
mod handing;
mod ledger;
mod life;
pub(super) mod manifests;
mod many;
mod moving;
mod pausing;
mod versions;
mod weather;
