//! What the server fills in on Pods and on the templates of Pods.

use k8s_openapi::api::core::v1::{
    Container, EmptyDirVolumeSource, EnvVar, HTTPGetAction, LifecycleHandler, PodSpec, Probe,
    Volume,
};

/// Who may read the files of a Secret, ConfigMap or projected volume.
const MODE: i32 = 0o644;

fn text(text: &str) -> String {
    text.to_owned()
}

/// Fills in what a Pod does not say.
pub(super) fn fill_pod(spec: &mut PodSpec) {
    spec.restart_policy.get_or_insert_with(|| text("Always"));
    spec.dns_policy.get_or_insert_with(|| text("ClusterFirst"));
    spec.scheduler_name
        .get_or_insert_with(|| text("default-scheduler"));
    spec.termination_grace_period_seconds.get_or_insert(30);
    spec.security_context.get_or_insert_default();
    // The older name of the field has the same value.
    spec.service_account = spec.service_account_name.clone();
    let init = spec.init_containers.iter_mut().flatten();
    for container in spec.containers.iter_mut().chain(init) {
        fill_container(container);
    }
    spec.volumes.iter_mut().flatten().for_each(fill_volume);
}

fn fill_container(container: &mut Container) {
    let image = container.image.as_deref().unwrap_or_default();
    let tag = image.rsplit('/').next().unwrap_or_default();
    let floating = !image.contains('@') && (!tag.contains(':') || tag.ends_with(":latest"));
    let policy = if floating { "Always" } else { "IfNotPresent" };
    container
        .image_pull_policy
        .get_or_insert_with(|| text(policy));
    container
        .termination_message_path
        .get_or_insert_with(|| text("/dev/termination-log"));
    container
        .termination_message_policy
        .get_or_insert_with(|| text("File"));
    container.resources.get_or_insert_default();
    for port in container.ports.iter_mut().flatten() {
        port.protocol.get_or_insert_with(|| text("TCP"));
    }
    container.env.iter_mut().flatten().for_each(fill_variable);
    for probe in [
        &mut container.liveness_probe,
        &mut container.readiness_probe,
        &mut container.startup_probe,
    ] {
        probe.iter_mut().for_each(fill_probe);
    }
    if let Some(lifecycle) = &mut container.lifecycle {
        lifecycle.post_start.iter_mut().for_each(fill_handler);
        lifecycle.pre_stop.iter_mut().for_each(fill_handler);
    }
}

fn fill_variable(variable: &mut EnvVar) {
    let source = variable.value_from.as_mut();
    if let Some(field) = source.and_then(|source| source.field_ref.as_mut()) {
        field.api_version.get_or_insert_with(|| text("v1"));
    }
}

fn fill_probe(probe: &mut Probe) {
    probe.timeout_seconds.get_or_insert(1);
    probe.period_seconds.get_or_insert(10);
    probe.success_threshold.get_or_insert(1);
    probe.failure_threshold.get_or_insert(3);
    probe.http_get.iter_mut().for_each(fill_request);
    if let Some(grpc) = &mut probe.grpc {
        grpc.service.get_or_insert_default();
    }
}

fn fill_handler(handler: &mut LifecycleHandler) {
    handler.http_get.iter_mut().for_each(fill_request);
}

fn fill_request(request: &mut HTTPGetAction) {
    request.path.get_or_insert_with(|| text("/"));
    request.scheme.get_or_insert_with(|| text("HTTP"));
}

fn fill_volume(volume: &mut Volume) {
    let nothing = Volume {
        name: volume.name.clone(),
        ..Volume::default()
    };
    if *volume == nothing {
        volume.empty_dir = Some(EmptyDirVolumeSource::default());
    }
    if let Some(secret) = &mut volume.secret {
        secret.default_mode.get_or_insert(MODE);
    }
    if let Some(config) = &mut volume.config_map {
        config.default_mode.get_or_insert(MODE);
    }
    if let Some(projected) = &mut volume.projected {
        projected.default_mode.get_or_insert(MODE);
        let sources = projected.sources.iter_mut().flatten();
        for token in sources.filter_map(|source| source.service_account_token.as_mut()) {
            token.expiration_seconds.get_or_insert(3600);
        }
    }
    if let Some(files) = &mut volume.downward_api {
        files.default_mode.get_or_insert(MODE);
        let items = files.items.iter_mut().flatten();
        for field in items.filter_map(|item| item.field_ref.as_mut()) {
            field.api_version.get_or_insert_with(|| text("v1"));
        }
    }
    if let Some(path) = &mut volume.host_path {
        path.type_.get_or_insert_default();
    }
}
