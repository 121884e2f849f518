//! `capstan plan-fork`: the process in which the daemon has the head of a fork planned. Nobody else runs it.

use std::io::{BufRead as _, BufReader, Read as _};

use super::exit::Exit;
use super::ui::Ui;
use crate::daemon;

/// The most bytes of a request.
const MOST_ASKED: u64 = 64 << 20;

/// Reads one request and prints its answer.
pub(super) fn run(ui: &Ui) -> anyhow::Result<Exit> {
    // Where memory is short, the system ends this process and not the daemon. Not every system lets it choose.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let mut input = BufReader::new(std::io::stdin());
    let mut line = Vec::new();
    (&mut input).take(MOST_ASKED).read_until(b'\n', &mut line)?;
    std::thread::spawn(move || {
        // It ends when the daemon does.
        let _ = input.read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
    let answer = daemon::answer_fork_request(&line)?;
    ui.data(&String::from_utf8(answer)?)?;
    Ok(Exit::Fine)
}
