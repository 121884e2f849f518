//! The files of a fleet to start from.
//!
//! In: what the person has chosen. Out: paths below the fleet's directory, with their texts. It does not know
//! which of them exist.

use super::args::InitArgs;
use crate::yaml;

/// Stands for an ID that the person has not given. No schema accepts it, so it cannot be merged unnoticed.
const PLACEHOLDER: &str = "FILL-IN";

/// The files of the fleet, in the order of reading them.
pub(super) fn of_fleet(args: &InitArgs) -> Vec<(String, String)> {
    let (environment, name) = (&args.environment, &args.name());
    let mut shared = include_str!("templates/namespace.yaml").to_owned();
    if args.client_id.is_some() {
        shared.push_str(include_str!("templates/identity.yaml"));
    }
    let templates = [
        (
            ".capstanignore".to_owned(),
            include_str!("templates/capstanignore"),
        ),
        ("shared.yaml".to_owned(), shared.as_str()),
        (
            format!("overlays/{environment}.yaml"),
            include_str!("templates/overlay.yaml"),
        ),
        (of_cluster(name), include_str!("templates/cluster.yaml")),
    ];
    let filled = templates.map(|(path, template)| (path, filled(template, args)));
    filled.into()
}

/// The path of the file of a cluster.
pub(super) fn of_cluster(name: &str) -> String {
    format!("clusters/{name}.yaml")
}

/// The text of a CI file, for a fleet at `path` of the repository.
///
/// # Errors
/// If a forge would replace a part of the path by something else before the shell sees it.
pub(super) fn of_ci(template: &str, args: &InitArgs, path: &str) -> anyhow::Result<String> {
    let is_replaced = ["$(", "${{", "$["].iter().any(|sign| path.contains(sign));
    anyhow::ensure!(
        !is_replaced && !path.contains(char::is_control),
        "cannot write a CI file: forges would change the path {path:?}; rename the directory, or use --forge none"
    );
    Ok(template
        .replace("@image@", &args.image)
        .replace("@path@", &argument(path)))
}

/// A path as one argument of a shell, in quotes if it needs them.
fn argument(path: &str) -> String {
    let path = match path.starts_with('-') {
        true => format!("./{path}"),
        false => path.to_owned(),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    match path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

fn filled(template: &str, args: &InitArgs) -> String {
    let id = |id: &Option<String>| id.clone().unwrap_or_else(|| PLACEHOLDER.to_owned());
    template
        .replace(
            "`env: @environment@`",
            &format!("`env: {}`", args.environment),
        )
        .replace(
            "overlays/@environment@",
            &format!("overlays/{}", args.environment),
        )
        .replace("@environment@", &scalar(&args.environment))
        .replace("@name@", &scalar(&args.name()))
        .replace("@location@", &scalar(&args.location))
        .replace("@subscription@", &id(&args.subscription_id))
        .replace("@tenant@", &id(&args.tenant_id))
        .replace("@client@", &id(&args.client_id))
}

/// A text as YAML, in quotes if it needs them: `no` is an environment, too.
fn scalar(text: &str) -> String {
    yaml::write(&[text.into()])
        .trim_start_matches("---")
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_is_more_than_one_argument() {
        for (path, expected) in [
            ("clouds/fleet", "clouds/fleet"),
            (".", "."),
            ("my fleet", "'my fleet'"),
            ("-rf", "./-rf"),
            ("a\"; id #", "'a\"; id #'"),
            ("it's `id` $HOME", r"'it'\''s `id` $HOME'"),
        ] {
            assert_eq!(argument(path), expected);
        }
    }
}
