//! Fleets of any size.

use std::sync::Arc;

use capstan::model::Tree;

/// A fleet of `count` definitions, one to a file, and one overlay that all of them share.
pub(crate) fn fleet(count: usize) -> Tree {
    let definition = |index: usize| (format!("clusters/c{index}.yaml"), definition(index));
    let files = (0..count)
        .map(definition)
        .chain([("overlays/base.yaml".to_owned(), OVERLAY.to_owned())]);
    let files = files
        .map(|(path, text)| (Arc::from(path), Arc::from(text.as_bytes())))
        .collect();
    Tree {
        files,
        ..Tree::default()
    }
}

const OVERLAY: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: base}
spec:
  merge:
    identityRef: {name: cluster-identity}
    tags: {fleet: bench}
    nodePools:
    - name: '*'
      osDisk: {sizeGiB: 128, storageAccountType: Standard_LRS}
  selector: {}
";

/// One cluster, `fleet-<index>`, whose identity an overlay names.
pub(crate) fn definition(index: usize) -> String {
    format!(
        "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata:
  name: fleet-{index}
  namespace: clusters
  labels: {{env: prod, region: uksouth}}
spec:
  platform: ARO
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  version: {{id: \"4.20\", channelGroup: stable}}
  nodePools:
  - name: mp1
    version: 4.20.17
    vmSize: Standard_D4s_v3
    autoscaling: {{min: 2, max: 10}}
"
    )
}
