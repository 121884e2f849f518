//! Missing rights as people read them.

use super::ui::Ui;
use crate::adapters::kubernetes::Rights;
use crate::yaml;

/// The missing rights together, and the rules that grant them.
pub(super) fn show(rights: &Rights, ui: &Ui) {
    if rights.missing.is_empty() {
        return;
    }
    ui.error("permissions are missing:");
    for missing in &rights.missing {
        ui.message(&format!("  {missing}"));
    }
    let role = &rights.role;
    let bind = match rights.grant.len() {
        1 => format!(
            "an administrator can grant what this fleet needs by applying this ClusterRole, and binding it with\n`kubectl create clusterrolebinding {role} --clusterrole={role} --user=USER`"
        ),
        _ => "an administrator can grant what this fleet needs by applying this ClusterRole and its binding"
            .to_owned(),
    };
    let left_out = "kinds that the cluster does not serve are left out";
    ui.message(&format!(
        "{bind} ({left_out}):\n---\n{}",
        yaml::write(&rights.grant).trim_end()
    ));
}
