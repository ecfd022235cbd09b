//! Draws the page. Text of agents is plain text: control characters are shown, never sent to the terminal.
//! Must not know: the source of requests.

use plenary_kernel::{TimestampMs, form::Form};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Borders, List, ListItem, ListState, Paragraph, Wrap},
};
use serde_json::Value;

use super::model::{Model, TextEntry, id_of};
use crate::{
    cli::requests::{argument_lines, asker, deadline, effects_of, text},
    out::{clean, span, utc},
};

/// From this width, the list and the request are side by side.
const WIDE: u16 = 90;
/// The height of the list at which a request is shown in it.
const LIST_ROWS_MIN: u16 = 4;
const KEYS: [&str; 7] =
    ["j k move", "Space PgUp scroll", "x pick", "z snooze 1 h", "d delegate", "u undo", "q quit"];
/// Keys that answer, each with its answer.
const ANSWER_KEYS: [(&str, &str); 5] = [
    ("a accept", "accept"),
    ("A always", "rule"),
    ("e edit", "edit"),
    ("r respond", "respond"),
    ("i ignore", "ignore"),
];

fn waiting(requests: usize, has_more: bool) -> String {
    match requests {
        number if has_more => format!("more than {number} requests wait for you"),
        1 => "1 request waits for you".to_owned(),
        number => format!("{number} requests wait for you"),
    }
}

/// Draws the page; returns the last scroll position of the request.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, now: TimestampMs) -> u16 {
    // The place for all keys: the list stays where it is when another request is selected.
    let key_lines = lines_of(&keys(|_| true), frame.area().width).len();
    let key_rows = Constraint::Length(key_lines.try_into().unwrap_or(1));
    let [head, body, note, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(1), key_rows])
            .areas(frame.area());
    let live = if model.live { "live" } else { "not connected" };
    let bold = Style::default().add_modifier(Modifier::BOLD);
    let title = Line::from(vec![
        Span::styled(format!(" {} ", waiting(model.requests.len(), model.has_more)), bold),
        Span::raw(format!("· {live}")),
    ]);
    frame.render_widget(Paragraph::new(title), head);
    let [list, detail] = if frame.area().width >= WIDE {
        Layout::horizontal([Constraint::Percentage(40), Constraint::Percentage(60)]).areas(body)
    } else {
        Layout::vertical([Constraint::Min(LIST_ROWS_MIN), Constraint::Percentage(60)]).areas(body)
    };
    draw_list(frame, model, now, list);
    let scroll_max = draw_detail(frame, model, detail);
    draw_note(frame, model, note);
    draw_keys(frame, model, foot);
    scroll_max
}

/// Keys and their effects, in lines of this width.
fn lines_of(keys: &[&str], width: u16) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for key in keys {
        let longer = lines.last().map(|line| format!("{line} · {key}"));
        let longer = longer.filter(|line| line.chars().count() <= usize::from(width));
        match (longer, lines.last_mut()) {
            (Some(longer), Some(line)) => *line = longer,
            (_, _) => lines.push((*key).to_owned()),
        }
    }
    lines
}

fn draw_list(frame: &mut Frame<'_>, model: &Model, now: TimestampMs, area: Rect) {
    let block = Block::default().borders(Borders::ALL).title("Requests");
    if model.requests.is_empty() {
        frame.render_widget(Paragraph::new("Nothing waits for you.").block(block), area);
        return;
    }
    let items = model.requests.iter().map(|request| {
        let mark = if model.is_picked(id_of(request)) { "✓ " } else { "  " };
        let since =
            request["created_at"].as_u64().map(|at| span(now.0.saturating_sub(at))).unwrap_or_default();
        let mut below = format!("  {} · {} · {since}", text(&request["from"]), text(&request["kind"]));
        if let Some(deadline) = deadline(request, now) {
            below.push_str(&format!(" · ends {deadline}"));
        }
        ListItem::new(vec![
            Line::raw(format!("{mark}{}", text(&request["title"]))),
            Line::styled(below, Style::default().add_modifier(Modifier::DIM)),
        ])
    });
    let list =
        List::new(items).block(block).highlight_style(Style::default().add_modifier(Modifier::REVERSED));
    let mut state = ListState::default().with_selected(model.index());
    frame.render_stateful_widget(list, area, &mut state);
}

fn lines(request: &Value) -> Vec<Line<'static>> {
    let bold = Style::default().add_modifier(Modifier::BOLD);
    let mut lines = vec![Line::styled(text(&request["title"]), bold)];
    let mut asker = asker(request);
    if request["directory"].is_string() {
        asker.push_str(&format!(" in {}", text(&request["directory"])));
    }
    lines.push(Line::raw(asker));
    if request["to"].is_string() {
        lines.push(Line::raw(format!("Given to {}", text(&request["to"]))));
    }
    if let Some([accepted, ignored]) = effects_of(request) {
        lines.push(Line::raw(format!("Accept: {accepted}. Ignore: {ignored}.")));
    }
    if request["action"].is_object() {
        lines.push(Line::raw(""));
        lines.push(Line::styled(format!("Tool {}", text(&request["action"]["name"])), bold));
        lines.extend(argument_lines(&request["action"]["args"]).into_iter().map(Line::raw));
    }
    for (name, part) in request["detail"].as_object().into_iter().flatten() {
        lines.push(Line::raw(""));
        lines.push(Line::styled(clean(name).into_owned(), bold));
        let part = part.as_str().unwrap_or_default();
        lines.extend(part.lines().map(|line| Line::raw(clean(line).into_owned())));
    }
    if let Some(choices) = request["choices"].as_array().filter(|choices| !choices.is_empty()) {
        lines.push(Line::raw(""));
        lines
            .push(Line::raw(format!("Choices: {}", choices.iter().map(text).collect::<Vec<_>>().join(", "))));
    }
    if let Some(form) = request["form"].as_object().and_then(|form| Form::read(form).ok()) {
        lines.push(Line::raw(""));
        lines.push(Line::styled("Values", bold));
        lines.extend(
            form.describe()
                .iter()
                .map(|(name, description)| Line::raw(format!("{}: {}", clean(name), text(description)))),
        );
    }
    if let Some(deadline_at) = request["deadline_at"].as_u64() {
        let effect = match request["on_timeout"].as_str() {
            Some("accept") => "then it counts as accepted",
            Some("ignore") => "then it counts as ignored",
            Some(_) | None => "then it has no answer",
        };
        lines.push(Line::raw(""));
        lines.push(Line::raw(format!("Until {}, {effect}", utc(TimestampMs(deadline_at)))));
    }
    lines
}

/// Draws the request, and states how many lines follow; returns its last scroll position.
fn draw_detail(frame: &mut Frame<'_>, model: &Model, area: Rect) -> u16 {
    let block = Block::default().borders(Borders::ALL);
    let block = match model.current() {
        Some(request) => block.title(clean(id_of(request)).into_owned()),
        None => block,
    };
    let lines = model.current().map(lines).unwrap_or_default();
    let paragraph = Paragraph::new(lines).wrap(Wrap { trim: false });
    let inner = block.inner(area);
    let rows = paragraph.line_count(inner.width).saturating_sub(usize::from(inner.height));
    let scroll_max = u16::try_from(rows).unwrap_or(u16::MAX);
    let scroll = model.scroll.min(scroll_max);
    let block = match scroll_max - scroll {
        0 => block,
        1 => block.title_bottom(" 1 more line: Space "),
        more => block.title_bottom(format!(" {more} more lines: Space ")),
    };
    frame.render_widget(paragraph.block(block).scroll((scroll, 0)), area);
    scroll_max
}

/// What is typed, or the note.
fn draw_note(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    let note = clean(&model.note);
    let text = match &model.typing {
        Some(TextEntry::Edit(text)) => end_of(&format!("edit> {}_", clean(text)), area.width),
        Some(TextEntry::Respond(text)) => end_of(&format!("reply> {}_", clean(text)), area.width),
        Some(TextEntry::Delegate(text)) => end_of(&format!("give to> {}_", clean(text)), area.width),
        None => String::new(),
    };
    let line = match (note.is_empty(), text.is_empty()) {
        (_, true) => note.into_owned(),
        (true, false) => text,
        (false, false) => format!("{note} ({text})"),
    };
    frame.render_widget(Paragraph::new(line), area);
}

/// The keys, and those of the answers for which `takes` is true.
fn keys(takes: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let answers = ANSWER_KEYS.into_iter().filter(|(_, answer)| takes(answer)).map(|(key, _)| key);
    KEYS.into_iter().chain(answers).collect()
}

/// The keys that have an effect now.
fn draw_keys(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    let all = keys(|answer| model.takes(answer));
    let keys = match &model.typing {
        Some(TextEntry::Edit(_)) => &["Enter sends the arguments", "Esc leaves them"][..],
        Some(TextEntry::Respond(_)) => &["Enter sends the reply", "Esc leaves it"],
        Some(TextEntry::Delegate(_)) => &["Enter gives it to this person", "Esc leaves it"],
        None => all.as_slice(),
    };
    let dim = Style::default().add_modifier(Modifier::DIM);
    let lines = lines_of(keys, area.width).into_iter().map(|line| Line::styled(line, dim));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}

/// The end of a line that is too long, where the cursor is.
fn end_of(line: &str, width: u16) -> String {
    let over = line.chars().count().saturating_sub(usize::from(width));
    line.chars().skip(over).collect()
}

#[cfg(test)]
mod tests {
    use ratatui::{Terminal, backend::TestBackend};

    use super::*;
    use crate::cli::tui::model::tests::{model, request};

    fn drawn(model: &Model, (width, height): (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| _ = draw(frame, model, TimestampMs(65_000))).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let rows = buffer.content().chunks(usize::from(width));
        let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
        rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_wide_page_has_the_list_beside_the_request() {
        let page = drawn(&model(&["ask_1", "ask_2"]), (100, 16));
        assert!(page.starts_with(" 2 requests wait for you · live\n"), "{page}");
        let row = page.lines().nth(2).unwrap();
        assert!(row.contains("  Run ask_1") && row.matches("Run ask_1").count() == 2, "{page}");
        for part in
            ["┌ask_1", "@nick.cc asks in /src/app", "Tool Bash", "\"command\": \"cargo test\"", "a accept"]
        {
            assert!(page.contains(part), "{part} is in:\n{page}");
        }
    }

    #[test]
    fn a_narrow_page_has_them_one_above_the_other() {
        let page = drawn(&model(&["ask_1"]), (60, 20));
        let row = |part: &str| page.lines().position(|line| line.contains(part)).unwrap();
        assert!(row("Requests") < row("┌ask_1"), "{page}");
    }

    #[test]
    fn every_key_is_shown_on_a_narrow_page() {
        for width in [40, 80] {
            let mut asked = request("ask_1");
            asked["allow"]["ignore"] = true.into();
            let mut model = Model::default();
            model.replace(vec![asked]);
            let page = drawn(&model, (width, 24));
            for key in [
                "a accept",
                "Space PgUp scroll",
                "i ignore",
                "r respond",
                "z snooze 1 h",
                "d delegate",
                "u undo",
                "q quit",
            ] {
                assert!(page.contains(key), "{key} is in:\n{page}");
            }
        }
    }

    #[test]
    fn no_key_is_shown_for_an_answer_that_the_request_does_not_take() {
        let mut question = request("ask_1");
        question["action"] = Value::Null;
        question["allow"] = serde_json::json!({"respond": true, "ignore": true});
        let mut model = Model::default();
        model.replace(vec![question]);
        let page = drawn(&model, (140, 20));
        assert!(page.contains("r respond · i ignore"), "{page}");
        for key in ["a accept", "A always", "e edit"] {
            assert!(!page.contains(key), "{key} is in:\n{page}");
        }
    }

    #[test]
    fn a_long_request_states_how_much_follows_and_ends_with_its_last_line() {
        let mut long = request("ask_1");
        let content: Vec<String> = (0..50).map(|n| format!("line {n}")).collect();
        long["action"]["args"] = serde_json::json!({"content": content.join("\n")});
        let mut model = Model::default();
        model.replace(vec![long]);
        let page = drawn(&model, (80, 24));
        assert!(page.contains("more lines: Space") && !page.contains("\\n"), "{page}");
        model.scroll = u16::MAX;
        let page = drawn(&model, (80, 24));
        assert!(page.contains("line 49") && page.contains("line 44"), "{page}");
        assert!(!page.contains("more line"), "{page}");
    }

    #[test]
    fn a_low_page_lists_a_request() {
        for width in [40, 80] {
            let page = drawn(&model(&["ask_1"]), (width, 12));
            let row = page.lines().nth(2).unwrap();
            assert!(row.contains("  Run ask_1"), "{page}");
        }
    }

    #[test]
    fn what_an_agent_wrote_sends_nothing_to_the_terminal() {
        let mut request = request("ask_1");
        request["title"] = "\u{1b}[31mred\u{202e}".into();
        request["detail"] = serde_json::json!({"text": "\u{7}bell\u{9b}2J"});
        let mut model = Model::default();
        model.replace(vec![request]);
        let page = drawn(&model, (100, 20));
        assert!(!page.chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}'), "{page:?}");
        assert!(page.contains("red"));
    }

    #[test]
    fn a_contact_request_names_the_stranger() {
        let mut contact = request("ask_1");
        contact["kind"] = "contact".into();
        contact["on_behalf_of"] = "@acme.bot".into();
        contact["to"] = "@nick.mara".into();
        let mut model = Model::default();
        model.replace(vec![contact]);
        let page = drawn(&model, (140, 20));
        assert!(page.contains("@acme.bot asks @nick.cc for contact"), "{page}");
        assert!(page.contains("Given to @nick.mara"), "{page}");
    }

    #[test]
    fn the_list_shows_when_a_request_ends() {
        let mut urgent = request("ask_1");
        urgent["deadline_at"] = 95_000.into();
        let mut model = Model::default();
        model.replace(vec![urgent, request("ask_2")]);
        let page = drawn(&model, (140, 16));
        assert_eq!(page.matches("ends in 30 s").count(), 1, "{page}");
    }

    #[test]
    fn the_title_says_when_more_requests_wait_than_are_shown() {
        let mut model = model(&["ask_1", "ask_2"]);
        model.has_more = true;
        let page = drawn(&model, (100, 16));
        assert!(page.starts_with(" more than 2 requests wait for you · live\n"), "{page}");
    }

    #[test]
    fn nothing_waits() {
        assert!(drawn(&Model::default(), (100, 10)).contains("Nothing waits for you."));
    }
}
