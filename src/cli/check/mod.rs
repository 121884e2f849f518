//! `capstan check`: is Capstan installed as it should be, or can it be installed?

mod access;
mod before;
mod fleets;
mod hosted;
mod item;
mod kinds;
mod place;
mod servers;
mod subject;

use clap::Args;

use super::args::DataFormat;
use super::cluster::AccessArgs;
use super::exit::Exit;
use super::install::{PodArgs, Set, SetArgs};
use super::signals::asked_to_stop;
use super::ui::Ui;
use crate::adapters::kubernetes::{Probe, connect_named};
use crate::settings::Environment;
use item::List;
use subject::Subject;

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    set: SetArgs,
    #[command(flatten)]
    pods: PodArgs,
    /// Check what an installation needs, before it
    #[arg(long)]
    pre: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: DataFormat,
    #[command(flatten)]
    access: AccessArgs,
}

/// Exits with 1 if something does not work.
pub(super) fn run(args: &CheckArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let set = Set::read(&args.set, &args.pods, environment, ui)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        tokio::select! {
            biased;
            signal = asked_to_stop() => Ok(Exit::Signal(signal)),
            exit = check(args, &set, environment, ui) => exit,
        }
    })
}

async fn check(
    args: &CheckArgs,
    set: &Set,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let (client, name) = connect_named(&args.access.access()).await?;
    let subject = Subject {
        client: &client,
        probe: Probe::new(&client),
        set,
        environment,
    };
    ui.message(&format!("checking the cluster {name}"));
    let mut items = place::check(&subject).await?;
    if args.pre {
        items.extend(before::check(&subject).await);
    } else {
        items.extend(kinds::definitions(&subject).await);
        items.extend(place::deployments(&subject).await);
        items.extend(access::check(&subject).await);
    }
    items.extend(fleets::check(&subject, args.pre).await);
    items.extend(kinds::foreign(&subject, args.pre).await);
    items.extend(hosted::check(&subject).await);
    let list = List(items);
    match args.output {
        DataFormat::Text => ui.tell(&list.to_string())?,
        DataFormat::Json => ui.data(&list.json())?,
    }
    Ok(Exit::failed_if(list.is_failure()))
}
