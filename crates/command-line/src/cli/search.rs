//! `plenary search`: searches everything that the caller may read.
//! Must not know: how hits are ranked.

use clap::Args;
use plenary_client::search::{Hit, SearchQuery, Snippet};
use plenary_kernel::OwnerName;

use super::{context::Context, failure::Failure};
use crate::out::{Out, Style, clean, second};

const HELP: &str = "\
Finds messages, channel events, inputs and results of runs, packages, facts and agents that you may read, the best hit first. \
You search as your agent; with --owner as an owner, and without either as the operator. With --json each hit has a `path` that \
reads it.

Examples:
  plenary search \"which parser generator\" --room sessions --since 2026-01-31
  plenary search deadlock --who @nick.claude-parser --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Search {
    /// The text to search for
    #[arg(value_name = "QUERY")]
    q: String,
    /// Only in these rooms, separated by commas: agents, sessions, channels, runs, context
    #[arg(long, value_delimiter = ',', value_parser = ["agents", "sessions", "channels", "runs", "context"])]
    room: Vec<String>,
    /// Only content by this author: @owner.name, @owner, ~owner or operator
    #[arg(long)]
    who: Option<String>,
    /// Not older than this day or time (RFC 3339, UTC)
    #[arg(long)]
    since: Option<String>,
    /// Not newer than this day, or older than this time
    #[arg(long)]
    until: Option<String>,
    /// Maximum number of hits, up to 50 [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=50))]
    limit: Option<u32>,
    /// Continue after this cursor, which the previous page printed
    #[arg(long)]
    cursor: Option<String>,
    /// Search as this owner, with its saved token, e.g. `nick`
    #[arg(long)]
    owner: Option<OwnerName>,
}

pub(crate) async fn run(context: &Context, args: Search) -> Result<(), Failure> {
    let client = context.viewing_client(args.owner.as_ref(), context.identity()?.is_some())?;
    let Search { q, room, who, since, until, limit, cursor, owner: _ } = args;
    let query = SearchQuery { q, rooms: room, who, since, until, limit };
    let reply = client.search(&query, cursor.as_deref()).await?;
    context.answer(&reply, |page| {
        let out = context.out;
        for agent in &page.agents {
            out.line(&format!(
                "{} {}",
                out.paint(Style::Bold, &clean(&agent.id)),
                clean(&agent.display_name)
            ))?;
        }
        for hit in &page.hits {
            out.line(&hit_lines(out, hit))?;
        }
        if page.agents.is_empty() && page.hits.is_empty() {
            out.note("there are no hits");
        }
        if !page.complete {
            out.note(
                "hits may be missing: the index is not up to date, so search again in a moment; or more matches than a search \
                 can read, so search for more words, in one room or in a shorter time",
            );
        }
        if let Some(cursor) = &page.next_cursor {
            out.note(&format!("more: --cursor '{}'", clean(cursor)));
        }
        Ok(())
    })
}

/// The time, kind, author and place of a hit, and below it the matching part and the path that reads it.
fn hit_lines(out: Out, hit: &Hit) -> String {
    let about = hit.about.as_deref().map(|about| format!(" · {}", clean(about))).unwrap_or_default();
    format!(
        "{} {} {}{about}\n  {}\n  {}",
        out.paint(Style::Dim, &second(&hit.at)),
        out.paint(Style::Green, &clean(&format!("{}.{}", hit.room, hit.kind))),
        out.paint(Style::Bold, &clean(hit.by.as_deref().unwrap_or("-"))),
        marked(out, &hit.snippet),
        out.paint(Style::Dim, &clean(&hit.path)),
    )
}

/// The matching part on one line, with the words of the query in bold.
fn marked(out: Out, snippet: &Snippet) -> String {
    let chars: Vec<char> = snippet.text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let text = |from: usize, to: usize| {
        clean(&chars.get(from..to).unwrap_or_default().iter().collect::<String>()).into_owned()
    };
    let (mut line, mut end) = (String::new(), 0);
    for [from, to] in &snippet.matches {
        line.push_str(&text(end, *from));
        line.push_str(&out.paint(Style::Bold, &text(*from, *to)));
        end = *to;
    }
    line.push_str(&text(end, chars.len()));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_has_its_own_lines_independent_of_its_content() {
        let snippet =
            Snippet { text: "Ä red\ndoor\u{7}".to_owned(), matches: vec![[2, 5], [6, 10], [90, 99]] };
        let hit = Hit {
            room: "sessions".to_owned(),
            kind: "message".to_owned(),
            path: "/sessions/x/events".to_owned(),
            about: Some("Doors".to_owned()),
            by: Some("@a.b".to_owned()),
            at: "2026-01-31T00:00:00.000Z".to_owned(),
            snippet,
        };
        let lines: Vec<String> = hit_lines(Out::new(false, true), &hit).lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "2026-01-31 00:00:00Z sessions.message @a.b · Doors");
        assert!(lines[1].starts_with("  Ä red door"), "{lines:?}");
        assert_eq!(lines[2], "  /sessions/x/events");
    }
}
