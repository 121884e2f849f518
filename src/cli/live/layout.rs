//! The lines of the progress, for a terminal of any size.
//!
//! In: how things stood, the size of the terminal, and how long ago that was. Out: lines, none of them wider
//! than the terminal and one fewer than its rows. What needs a person comes first, then what is in progress;
//! what has no room is counted. It does not know the terminal.

use std::borrow::Cow;
use std::time::Duration;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::apply::{ClusterSummary, Summary};
use crate::cli::ui::plain;
use crate::graph::minutes;

/// A terminal's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Size {
    pub(in crate::cli) columns: usize,
    pub(in crate::cli) rows: usize,
}

/// How things stood at a moment.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Picture<'a> {
    pub(in crate::cli) title: &'a str,
    /// What the title was made of, if it tells a time that passes.
    pub(in crate::cli) summary: Option<&'a Summary>,
    pub(in crate::cli) clusters: &'a [ClusterSummary],
}

/// The state of a cluster, in the order in which clusters are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Failed,
    Provisioning,
    Waiting,
    Ready,
}

impl State {
    const ALL: [Self; 4] = [Self::Failed, Self::Provisioning, Self::Waiting, Self::Ready];

    pub(super) fn of(summary: &Summary) -> Self {
        match summary {
            Summary { failed, .. } if !failed.is_empty() => Self::Failed,
            Summary { ready, total, .. } if ready == total => Self::Ready,
            Summary { ready: 0, .. } => Self::Waiting,
            _ => Self::Provisioning,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Failed => "Failed",
            Self::Provisioning => "Provisioning",
            Self::Waiting => "Waiting",
            Self::Ready => "Ready",
        }
    }

    /// The parameter of the control sequence that colours it.
    const fn colour(self) -> &'static str {
        match self {
            Self::Failed => "1;31",
            Self::Ready => "32",
            Self::Provisioning | Self::Waiting => "33",
        }
    }
}

/// A line, of which one part may be coloured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    before: String,
    state: Option<State>,
    after: String,
}

impl Line {
    fn text(text: &str, columns: usize) -> Self {
        Self {
            before: cut(&plain(text), columns).into_owned(),
            state: None,
            after: String::new(),
        }
    }

    /// The line as it is written.
    pub(super) fn shown(&self, colour: bool) -> String {
        let (before, after) = (&self.before, &self.after);
        match self.state {
            None => before.clone(),
            Some(state) if colour => {
                let (code, word) = (state.colour(), state.word());
                format!("{before}\u{1b}[{code}m{word}\u{1b}[0m{after}")
            }
            Some(state) => format!("{before}{}{after}", state.word()),
        }
    }
}

/// The columns of the state and of the indentation, the latter with the branch of a tree.
const STATE: usize = 12;
const TREE: usize = 5;
/// The narrowest and the widest bar.
const BAR: (usize, usize) = (6, 40);
/// What a failure needs beside its cluster; it gets a line of its own where there is less.
const ROOM: usize = 40;

/// The lines for a terminal of this size, `age` after the picture was true.
pub(super) fn lines(picture: &Picture<'_>, size: Size, age: Duration) -> Vec<Line> {
    let columns = size.columns.max(1);
    let mut lines = vec![Line::text(&format!("  {}", title(picture, age)), columns)];
    // One row stays free: a line break behind the last one would scroll.
    let rows = size.rows.saturating_sub(2);
    let clusters: Vec<ClusterSummary> = picture
        .clusters
        .iter()
        .map(|cluster| cluster.later(age))
        .collect();
    let mut sorted: Vec<&ClusterSummary> = clusters.iter().collect();
    sorted.sort_by_key(|cluster| State::of(&cluster.summary));
    // Those that cannot be shown in any case set no widths.
    let table = Table::new(&sorted[..sorted.len().min(rows)], columns);
    let needed =
        |cluster: &&ClusterSummary| 1 + usize::from(table.message_below(cluster).is_some());
    let all: usize = sorted.iter().map(needed).sum();
    let room = match all <= rows {
        true => rows,
        // The last row counts the rest.
        false => rows.saturating_sub(1),
    };
    let mut shown = 0;
    let mut used = 0;
    while let Some(cluster) = sorted.get(shown).filter(|next| used + needed(next) <= room) {
        used += needed(cluster);
        shown += 1;
        let last = shown == sorted.len();
        lines.push(table.line(cluster, last));
        let below = table.message_below(cluster);
        lines.extend(below.map(|text| table.below(&text, last)));
    }
    if shown < sorted.len() && rows > 0 {
        lines.push(table.rest(&sorted[shown..], shown == 0));
    }
    lines
}

fn title<'a>(picture: &Picture<'a>, age: Duration) -> Cow<'a, str> {
    let parts = picture.summary.and_then(|summary| {
        let rest = picture.title.strip_prefix(&summary.title())?;
        Some((summary.later(age).title(), rest))
    });
    parts.map_or(Cow::Borrowed(picture.title), |(reported, rest)| {
        format!("{reported}{rest}").into()
    })
}

/// The widths of the columns; zero for one that has no room.
struct Table {
    columns: usize,
    tree: bool,
    name: usize,
    bar: usize,
    count: usize,
    elapsed: usize,
    details: usize,
}

impl Table {
    fn new(clusters: &[&ClusterSummary], columns: usize) -> Self {
        let widest = |text: &dyn Fn(&ClusterSummary) -> String| {
            clusters
                .iter()
                .map(|cluster| text(cluster).width())
                .max()
                .unwrap_or_default()
        };
        let name = widest(&|cluster| cluster.id.name.clone());
        let count = widest(&|cluster| count(&cluster.summary));
        let elapsed = widest(&elapsed);
        let progress = |cluster: &ClusterSummary| {
            let details = details(&cluster.summary);
            match State::of(&cluster.summary) {
                State::Failed => cut(&details, ROOM).into_owned(),
                _ => details,
            }
        };
        let details = widest(&progress);
        let fixed = count + 1 + STATE + 1 + elapsed;
        let tree = TREE + name + 2 + fixed <= columns;
        let (indent, gap) = if tree { (TREE, 2) } else { (0, 1) };
        let name = name.min(columns.saturating_sub(indent + gap + fixed).max(8));
        let left = columns.saturating_sub(indent + name + gap + fixed + 2);
        let bar = match left.saturating_sub(details + 1) {
            left if left >= BAR.0 && tree => left.min(BAR.1),
            _ => 0,
        };
        let details = left.saturating_sub(if bar > 0 { bar + 1 } else { 0 });
        Self {
            columns,
            tree,
            name,
            bar,
            count,
            elapsed,
            details: if details < 8 { 0 } else { details },
        }
    }

    fn branch(&self, last: bool) -> &'static str {
        match (self.tree, last) {
            (false, _) => "",
            (true, true) => "  └─ ",
            (true, false) => "  ├─ ",
        }
    }

    fn line(&self, cluster: &ClusterSummary, last: bool) -> Line {
        let summary = &cluster.summary;
        let state = State::of(summary);
        let name = padded(&plain(&cluster.id.name), self.name);
        let gap = if self.tree { "  " } else { " " };
        let mut bar = bar(summary, self.bar);
        bar.extend((self.bar > 0).then_some(' '));
        let count = count(summary);
        let before = format!(
            "{}{name}{gap}{bar}{count:>1$} ",
            self.branch(last),
            self.count
        );
        let details = match self.message_below(cluster) {
            None => details(summary),
            Some(_) => String::new(),
        };
        let fill = " ".repeat(STATE - state.word().len());
        let after = format!("{fill} {:>1$}  ", elapsed(cluster), self.elapsed);
        let after = format!("{after}{}", cut(&details, self.details));
        if before.width() + STATE > self.columns {
            return Line::text(&format!("{before}{}", state.word()), self.columns);
        }
        let room = self.columns - before.width() - state.word().len();
        let after = cut(after.trim_end(), room).into_owned();
        Line {
            before,
            state: Some(state),
            after,
        }
    }

    /// Why a cluster failed, if that has no room beside it.
    fn message_below(&self, cluster: &ClusterSummary) -> Option<String> {
        let failed = State::of(&cluster.summary) == State::Failed;
        let message = Some(details(&cluster.summary)).filter(|_| failed)?;
        (self.details < ROOM && message.width() > self.details).then_some(message)
    }

    fn below(&self, text: &str, last: bool) -> Line {
        let indent = match (self.tree, last) {
            (false, _) => "  ",
            (true, true) => "       ",
            (true, false) => "  │    ",
        };
        Line::text(&format!("{indent}{text}"), self.columns)
    }

    /// How many more there are, by state.
    fn rest(&self, rest: &[&ClusterSummary], all: bool) -> Line {
        let states = State::ALL.iter().filter_map(|state| {
            let of = |cluster: &&&ClusterSummary| State::of(&cluster.summary) == *state;
            let count = rest.iter().filter(of).count();
            (count > 0).then(|| format!("{count} {}", state.word().to_lowercase()))
        });
        let states: Vec<String> = states.collect();
        let more = if all { "clusters" } else { "more" };
        let text = format!(
            "{}{} {more}: {}",
            self.branch(true),
            rest.len(),
            states.join(", ")
        );
        Line::text(&text, self.columns)
    }
}

fn count(summary: &Summary) -> String {
    format!("{}/{}", summary.ready, summary.total)
}

fn bar(summary: &Summary, width: usize) -> String {
    let full = (summary.ready * width)
        .checked_div(summary.total)
        .unwrap_or(width);
    format!("{}{}", "█".repeat(full), "░".repeat(width - full))
}

/// How long it has taken; nothing for a cluster that this revision left alone.
fn elapsed(cluster: &ClusterSummary) -> String {
    match cluster.elapsed {
        Duration::ZERO => String::new(),
        elapsed => minutes(elapsed),
    }
}

/// What a cluster waits for and how long, or why it failed.
pub(super) fn details(summary: &Summary) -> String {
    if let Some((id, message)) = summary.failed.first() {
        return plain(&format!("{id}: {message}"));
    }
    match (summary.ready == summary.total, summary.left) {
        (true, _) => String::new(),
        (false, Duration::ZERO) => summary.stage.clone(),
        (false, left) => format!("{}, {} left", summary.stage, minutes(left)),
    }
}

fn padded(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let fill = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(fill))
}

/// A text that would be wider ends with `…`.
fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let mut used = 0;
    let fits = text.chars().take_while(|c| {
        used += c.width().unwrap_or_default();
        used < columns
    });
    let mark = (columns > 0).then_some('…');
    Cow::Owned(fits.chain(mark).collect())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::ObjectId;

    /// A cluster of four parts after 75 seconds, of which the last takes a minute.
    pub(in crate::cli::live) fn cluster(
        name: &str,
        ready: usize,
        failed: &[&str],
    ) -> ClusterSummary {
        let id = |kind, name: &str| ObjectId::new("keyvault.azure.com", kind, "clusters", name);
        let failed = failed
            .iter()
            .map(|name| (id("Vault", name), "QuotaExceeded".to_owned()))
            .collect();
        let summary = Summary {
            ready,
            total: 4,
            stage: "HCP cluster".to_owned(),
            left: Duration::from_secs(60),
            failed,
            terminal: false,
        };
        ClusterSummary {
            id: id("Cluster", name),
            summary,
            elapsed: Duration::from_secs(75),
        }
    }

    fn drawn(
        clusters: &[ClusterSummary],
        (columns, rows): (usize, usize),
        age: u64,
    ) -> Vec<String> {
        let picture = Picture {
            title: "2/8 ready, HCP cluster, about 9 min left",
            summary: None,
            clusters,
        };
        let lines = lines(&picture, Size { columns, rows }, Duration::from_secs(age));
        lines.iter().map(|line| line.shown(false)).collect()
    }

    fn one(cluster: ClusterSummary, columns: usize) -> Vec<String> {
        drawn(&[cluster], (columns, 24), 0).split_off(1)
    }

    #[test]
    fn a_cluster_is_one_line_with_its_state() {
        for (ready, failed, columns, expected) in [
            (
                2,
                &[][..],
                80,
                "  └─ one  ███████████░░░░░░░░░░░ 2/4 Provisioning 1m15s  HCP cluster, 1m00s left",
            ),
            (
                4,
                &[],
                80,
                "  └─ one  ████████████████████████████████████████ 4/4 Ready        1m15s",
            ),
            (
                0,
                &[],
                66,
                "  └─ one  ░░░░░░░░ 0/4 Waiting      1m15s  HCP cluster, 1m00s left",
            ),
            (
                0,
                &[],
                60,
                "  └─ one  0/4 Waiting      1m15s  HCP cluster, 1m00s left",
            ),
            (
                0,
                &[],
                50,
                "  └─ one  0/4 Waiting      1m15s  HCP cluster, 1m…",
            ),
            (2, &[], 40, "  └─ one  2/4 Provisioning 1m15s"),
            (2, &[], 30, "one 2/4 Provisioning 1m15s"),
            (2, &[], 20, "one 2/4 Provisioning"),
            (2, &[], 16, "one 2/4 Provisi…"),
            (
                2,
                &["kv"],
                80,
                "  └─ one  ██████░░░░░░░ 2/4 Failed       1m15s  Vault/clusters/kv: QuotaExceeded",
            ),
        ] {
            assert_eq!(
                one(cluster("one", ready, failed), columns)[0],
                expected,
                "{columns}"
            );
        }
    }

    #[test]
    fn why_a_cluster_failed_has_a_line_of_its_own_where_there_is_no_room_beside_it() {
        let failed = || cluster("a-cluster-with-a-long-name", 2, &["kv"]);
        let expected = [
            "a-cluster-with-a… 2/4 Failed       1m15s",
            "  Vault/clusters/kv: QuotaExceeded",
        ];
        assert_eq!(one(failed(), 40), expected);
        assert_eq!(one(failed(), 200).len(), 1);
    }

    #[test]
    fn nothing_is_wider_or_longer_than_the_terminal() {
        let fleet = fleet(200);
        for columns in [1, 2, 9, 20, 39, 40, 41, 60, 79, 80, 81, 120, 200, 500] {
            for rows in [1, 2, 3, 4, 20, 24, 60, 500] {
                let lines = drawn(&fleet, (columns, rows), 3);
                assert!(
                    lines.len() < rows.max(2),
                    "{columns}x{rows}: {}",
                    lines.len()
                );
                for line in lines {
                    assert!(line.width() <= columns, "{columns}x{rows}: {line:?}");
                }
            }
        }
    }

    /// In turn ready, waiting, provisioning and failed.
    fn fleet(count: usize) -> Vec<ClusterSummary> {
        let cluster = |at: usize| {
            let name = format!("prod-west-europe-{at}");
            match at % 20 {
                0 => cluster(&name, 3, &["kv", "nsg"]),
                1..6 => cluster(&name, at % 3 + 1, &[]),
                6..12 => cluster(&name, 0, &[]),
                _ => cluster(&name, 4, &[]),
            }
        };
        (0..count).map(cluster).collect()
    }

    #[test]
    fn those_in_trouble_come_first_and_the_rest_is_counted() {
        let lines = drawn(&fleet(200), (80, 20), 0);
        let with = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
        assert_eq!(lines.len(), 18);
        // Ten failed ones with a line for the reason leave no room for others.
        assert_eq!((with(" Failed "), with("QuotaExceeded")), (8, 8));
        let rest = "  └─ 192 more: 2 failed, 50 provisioning, 60 waiting, 80 ready";
        assert_eq!(lines.last().map(String::as_str), Some(rest));

        let lines = drawn(&fleet(40), (200, 20), 0);
        let states: Vec<&str> = lines[1..18]
            .iter()
            .filter_map(|line| line.split_whitespace().nth(4))
            .collect();
        let expected = [
            vec!["Failed"; 2],
            vec!["Provisioning"; 10],
            vec!["Waiting"; 5],
        ]
        .concat();
        assert_eq!(states, expected);
        assert_eq!(lines[18], "  └─ 23 more: 7 waiting, 16 ready");
    }

    #[test]
    fn clocks_go_on_but_for_what_is_ready() {
        let clusters = [cluster("one", 2, &[]), cluster("two", 4, &[])];
        let later = drawn(&clusters, (60, 24), 45);
        assert_eq!(
            later[1],
            "  ├─ one  2/4 Provisioning 2m00s  HCP cluster, 0m15s left"
        );
        assert!(later[2].ends_with("4/4 Ready        1m15s"), "{}", later[2]);
        let late = drawn(&clusters, (60, 24), 600);
        assert_eq!(
            late[1],
            "  ├─ one  ██████░░░░░░░ 2/4 Provisioning 11m15s  HCP cluster"
        );
        let summary = &clusters[0].summary;
        let title = |title: &str| {
            let picture = Picture {
                title,
                summary: Some(summary),
                clusters: &[],
            };
            super::title(&picture, Duration::from_secs(30)).into_owned()
        };
        assert_eq!(
            title("2/4 ready, HCP cluster, about 1 min left; 1 object kept"),
            "2/4 ready, HCP cluster, less than a minute left; 1 object kept"
        );
        assert_eq!(title("stuck"), "stuck");
    }

    #[test]
    fn only_the_state_is_coloured_and_nobody_steers_the_terminal() {
        let mut cluster = cluster("one", 2, &["kv"]);
        cluster.summary.failed[0].1 = "\u{1b}[2Jgone\n".to_owned();
        let picture = Picture {
            title: "a\u{1b}b",
            summary: None,
            clusters: &[cluster],
        };
        let size = Size {
            columns: 200,
            rows: 9,
        };
        let lines = lines(&picture, size, Duration::ZERO);
        let plain: String = lines.iter().map(|line| line.shown(false)).collect();
        assert!(
            !plain.contains('\u{1b}') && !plain.contains('\n'),
            "{plain:?}"
        );
        let coloured = lines[1].shown(true);
        assert!(
            coloured.contains("\u{1b}[1;31mFailed\u{1b}[0m"),
            "{coloured:?}"
        );
    }

    #[test]
    fn a_text_is_cut_by_its_columns() {
        for (text, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("üüüü", 3, "üü…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ] {
            assert_eq!(cut(text, columns), expected);
        }
    }
}
