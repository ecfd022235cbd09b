//! The state of the terminal page and the effect of keys: the waiting requests, the selected one, the typed text.
//! Must not know: the terminal, or the server.

use std::collections::BTreeSet;

use plenary_kernel::TimestampMs;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

use crate::cli::input;

/// How long an answer can be undone, in seconds.
pub(super) const UNDO_SECONDS: u64 = 8;
/// How long a snooze lasts, in milliseconds.
pub(super) const SNOOZE_MS: u64 = 3_600_000;
/// Maximum length of a typed text in characters.
const TYPED_CHARS_MAX: usize = 8_000;
/// How far a key scrolls, in lines: few, so that a low page skips none.
const SCROLL_LINES: u16 = 3;
/// The lifetime of a rule created here, in days.
const RULE_DAYS: u64 = 7;

/// The text being typed, and its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextEntry {
    /// Other arguments, as JSON.
    Edit(String),
    /// An answer in words.
    Respond(String),
    /// The person to delegate to.
    Delegate(String),
}

/// The selected request no longer waits. No key acts on another one before the user has selected it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LostSelection {
    /// Its former index.
    index: usize,
    /// Whether the user was typing: then the next letters are text, not commands.
    was_typing: bool,
}

/// The action for a key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Act {
    Nothing,
    /// Leave the page.
    Quit,
    /// Answer these requests, each with its version.
    Answer(Vec<(String, Value)>),
    /// Undo these answers.
    Undo(Vec<String>),
    /// Snooze a request.
    Snooze(String),
    /// Delegate a request to another person.
    Delegate(String, String),
}

/// The state of the page.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// The waiting requests, oldest first.
    pub(super) requests: Vec<Value>,
    /// Whether more requests wait than are in the list.
    pub(super) has_more: bool,
    selected: Option<String>,
    lost: Option<LostSelection>,
    picked: BTreeSet<String>,
    pub(super) typing: Option<TextEntry>,
    /// The scroll position of the detail.
    pub(super) scroll: u16,
    /// The note below the page.
    pub(super) note: String,
    /// The requests answered last, which can be undone until `undo_ends`.
    undoable: Vec<String>,
    undo_ends: TimestampMs,
    /// Whether the stream is up.
    pub(super) live: bool,
}

pub(super) fn id_of(request: &Value) -> &str {
    request["request_id"].as_str().unwrap_or_default()
}

fn undo_note(answers: usize) -> String {
    format!("answered {answers}; u takes it back for {UNDO_SECONDS} s; an arrow key goes on")
}

impl Model {
    /// The index of the selected request.
    pub(super) fn index(&self) -> Option<usize> {
        let selected = self.selected.as_deref()?;
        self.requests.iter().position(|request| id_of(request) == selected)
    }

    /// The selected request.
    pub(super) fn current(&self) -> Option<&Value> {
        self.index().and_then(|index| self.requests.get(index))
    }

    pub(super) fn is_picked(&self, id: &str) -> bool {
        self.picked.contains(id)
    }

    /// Replaces the list. The selected request stays in view; if it no longer waits, nothing is selected until the user selects
    /// again.
    pub(super) fn replace(&mut self, requests: Vec<Value>) {
        let before = self.index();
        self.requests = requests;
        self.picked.retain(|id| self.requests.iter().any(|request| id_of(request) == id));
        if self.index().is_some() || self.lost.is_some() {
            return;
        }
        if self.selected.take().is_none() {
            return self.select(0);
        }
        let was_typing = self.typing.take().is_some();
        if was_typing {
            self.note = "that request no longer waits; an arrow key continues".to_owned();
        }
        self.lost = Some(LostSelection { index: before.unwrap_or(0), was_typing });
    }

    /// Selects the request at the lost one's index, if the key is for selecting.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a key that means nothing does nothing")]
    fn select_lost(&mut self, lost: LostSelection, code: KeyCode) -> Option<Act> {
        match code {
            KeyCode::Up | KeyCode::Down | KeyCode::Enter | KeyCode::Esc => {}
            KeyCode::Char('j' | 'k') if !lost.was_typing => {}
            KeyCode::Char('q' | 'u') if !lost.was_typing => return None,
            _ => return Some(Act::Nothing),
        }
        self.lost = None;
        self.select(lost.index.min(self.requests.len().saturating_sub(1)));
        self.note.clear();
        Some(Act::Nothing)
    }

    fn select(&mut self, index: usize) {
        self.selected = self.requests.get(index).map(|request| id_of(request).to_owned());
        self.scroll = 0;
    }

    fn step(&mut self, down: bool) {
        let Some(index) = self.index() else { return };
        let index = if down { (index + 1).min(self.requests.len() - 1) } else { index.saturating_sub(1) };
        self.select(index);
    }

    /// Records the requests that were just answered.
    pub(super) fn answered(&mut self, ids: Vec<String>, now: TimestampMs) {
        self.note = undo_note(ids.len());
        self.picked.clear();
        self.undoable = ids;
        self.undo_ends = TimestampMs(now.0.saturating_add(UNDO_SECONDS * 1_000));
    }

    /// Forgets answers that can no longer be undone.
    pub(super) fn expire(&mut self, now: TimestampMs) {
        if self.undoable.is_empty() || now < self.undo_ends {
            return;
        }
        if self.note == undo_note(self.undoable.len()) {
            self.note.clear();
        }
        self.undoable.clear();
    }

    /// Records the outcome of an act: a failure, or none. A typed text stays until the server has taken it.
    pub(super) fn finish(&mut self, failure: Option<String>) {
        match failure {
            Some(failure) => self.note = failure,
            None => self.typing = None,
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a key that means nothing does nothing")]
    pub(super) fn key(&mut self, key: KeyEvent) -> Act {
        // With any other modifier a key belongs to the terminal, e.g. the prefix of tmux.
        let modifiers = key.modifiers - KeyModifiers::SHIFT;
        if !modifiers.is_empty() {
            let is_quit = modifiers == KeyModifiers::CONTROL && key.code == KeyCode::Char('c');
            return if is_quit { Act::Quit } else { Act::Nothing };
        }
        if self.typing.is_some() {
            return self.typed(key.code);
        }
        if let Some(lost) = self.lost
            && let Some(act) = self.select_lost(lost, key.code)
        {
            return act;
        }
        self.note.clear();
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => Act::Quit,
            KeyCode::Char('j') | KeyCode::Down => self.moved(|model| model.step(true)),
            KeyCode::Char('k') | KeyCode::Up => self.moved(|model| model.step(false)),
            KeyCode::PageDown | KeyCode::Char(' ') => {
                self.moved(|m| m.scroll = m.scroll.saturating_add(SCROLL_LINES))
            }
            KeyCode::PageUp => self.moved(|m| m.scroll = m.scroll.saturating_sub(SCROLL_LINES)),
            KeyCode::Char('a') => self.answer("accept"),
            KeyCode::Char('i') => self.answer("ignore"),
            KeyCode::Char('e') => self.begin_edit(),
            KeyCode::Char('r') => self.begin_respond(),
            KeyCode::Char('x') => self.pick(),
            KeyCode::Char('A') => self.accept_always(),
            KeyCode::Char('d') => self.begin_delegate(),
            KeyCode::Char('z') => match self.current() {
                Some(request) => Act::Snooze(id_of(request).to_owned()),
                None => Act::Nothing,
            },
            KeyCode::Char('u') if self.undoable.is_empty() => self.show_note("there is nothing to undo"),
            KeyCode::Char('u') => Act::Undo(std::mem::take(&mut self.undoable)),
            _ => Act::Nothing,
        }
    }

    fn moved(&mut self, change: impl FnOnce(&mut Self)) -> Act {
        change(self);
        Act::Nothing
    }

    fn show_note(&mut self, text: &str) -> Act {
        text.clone_into(&mut self.note);
        Act::Nothing
    }

    fn pick(&mut self) -> Act {
        let Some(id) = self.current().map(|request| id_of(request).to_owned()) else { return Act::Nothing };
        if !self.picked.remove(&id) {
            self.picked.insert(id);
        }
        self.step(true);
        Act::Nothing
    }

    fn allows(&self, answer: &str) -> bool {
        self.current().is_some_and(|request| request["allow"][answer] == true)
    }

    /// The marked requests, or else the selected one.
    fn answered_together(&self) -> Vec<&Value> {
        if self.picked.is_empty() {
            return self.current().into_iter().collect();
        }
        self.requests.iter().filter(|request| self.picked.contains(id_of(request))).collect()
    }

    /// Whether the key of an answer has an effect. `accept` and `ignore` answer the marked requests; `rule` accepts with a rule.
    pub(super) fn takes(&self, answer: &str) -> bool {
        match answer {
            "accept" | "ignore" => {
                let requests = self.answered_together();
                !requests.is_empty() && requests.iter().all(|request| request["allow"][answer] == true)
            }
            "rule" => {
                let is_for_tool = self.current().is_some_and(|request| request["action"]["name"].is_string());
                is_for_tool && self.allows("accept")
            }
            _ => self.allows(answer),
        }
    }

    /// Answers the marked requests, or else the selected one.
    fn answer(&mut self, answer: &str) -> Act {
        let requests = self.answered_together();
        if requests.is_empty() {
            return Act::Nothing;
        }
        if !self.takes(answer) {
            let done = if answer == "accept" { "accepted" } else { "ignored" };
            let which = if requests.len() == 1 { "it cannot" } else { "some of them cannot" };
            return self.show_note(&format!("{which} be {done}"));
        }
        let body = |request: &Value| json!({"type": answer, "version": request["version"], "undo_seconds": UNDO_SECONDS});
        Act::Answer(requests.into_iter().map(|request| (id_of(request).to_owned(), body(request))).collect())
    }

    fn begin_edit(&mut self) -> Act {
        if !self.allows("edit") {
            return self.show_note("its arguments cannot be changed");
        }
        let args = self.current().map(|request| request["action"]["args"].clone()).unwrap_or_default();
        let text = if args.is_object() { args.to_string() } else { "{}".to_owned() };
        self.typing = Some(TextEntry::Edit(text));
        Act::Nothing
    }

    /// Accepts the selected request, with a rule for the same agent and tool in the same directory.
    fn accept_always(&mut self) -> Act {
        let Some(request) = self.current() else { return Act::Nothing };
        if !self.takes("rule") {
            return self.show_note("no rule can be made of it: a rule is for a tool");
        }
        let mut rule = json!({"agent": request["from"], "tool": request["action"]["name"], "expires_in_days": RULE_DAYS});
        if request["directory"].is_string() {
            rule["directory"] = request["directory"].clone();
        }
        let body = json!({"type": "accept", "version": request["version"], "undo_seconds": UNDO_SECONDS, "rule": rule});
        Act::Answer(vec![(id_of(request).to_owned(), body)])
    }

    fn begin_delegate(&mut self) -> Act {
        if self.current().is_some() {
            self.typing = Some(TextEntry::Delegate("@".to_owned()));
        }
        Act::Nothing
    }

    fn begin_respond(&mut self) -> Act {
        if !self.allows("respond") {
            return self.show_note("it takes no reply in words");
        }
        self.typing = Some(TextEntry::Respond(String::new()));
        Act::Nothing
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a key that means nothing does nothing")]
    fn typed(&mut self, code: KeyCode) -> Act {
        let Some(typing) = &mut self.typing else { return Act::Nothing };
        let (TextEntry::Edit(text) | TextEntry::Respond(text) | TextEntry::Delegate(text)) = typing;
        match code {
            KeyCode::Esc => self.typing = None,
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(c) if text.chars().count() < TYPED_CHARS_MAX => text.push(c),
            KeyCode::Enter => return self.send_typed(),
            _ => return Act::Nothing,
        }
        self.note.clear();
        Act::Nothing
    }

    fn send_typed(&mut self) -> Act {
        let (Some(typing), Some(request)) = (self.typing.clone(), self.current()) else {
            return Act::Nothing;
        };
        let mut body = json!({"version": request["version"], "undo_seconds": UNDO_SECONDS});
        let id = id_of(request).to_owned();
        match typing {
            TextEntry::Edit(text) => match input::object(&text) {
                Ok(args) => (body["type"], body["args"]) = ("edit".into(), args.into()),
                Err(_) => return self.show_note("the arguments are not a JSON object"),
            },
            TextEntry::Respond(text) if text.trim().is_empty() => {
                return self.show_note("a reply needs text");
            }
            TextEntry::Respond(text) => (body["type"], body["text"]) = ("respond".into(), text.trim().into()),
            TextEntry::Delegate(text) if text.trim().len() < 2 => {
                return self.show_note("name a person, @OWNER.NAME");
            }
            TextEntry::Delegate(text) => return Act::Delegate(id, text.trim().to_owned()),
        }
        Act::Answer(vec![(id, body)])
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn request(id: &str) -> Value {
        json!({
            "request_id": id, "kind": "permission", "title": format!("Run {id}"), "from": "@nick.cc",
            "state": "open", "version": 1, "created_at": 0, "directory": "/src/app",
            "action": {"name": "Bash", "args": {"command": "cargo test"}},
            "allow": {"accept": true, "edit": true, "respond": true, "ignore": false},
        })
    }

    pub(crate) fn model(ids: &[&str]) -> Model {
        let mut model = Model { live: true, ..Model::default() };
        model.replace(ids.iter().map(|id| request(id)).collect());
        model
    }

    fn press(model: &mut Model, keys: &str) -> Act {
        let mut act = Act::Nothing;
        for c in keys.chars() {
            let code = match c {
                '\n' => KeyCode::Enter,
                '\u{8}' => KeyCode::Backspace,
                '\u{1b}' => KeyCode::Esc,
                c => KeyCode::Char(c),
            };
            act = model.key(KeyEvent::new(code, KeyModifiers::NONE));
        }
        act
    }

    fn current(model: &Model) -> Option<&str> {
        model.current().map(id_of)
    }

    #[test]
    fn keys_answer_the_selected_request() {
        let mut model = model(&["a", "b"]);
        let accept = json!({"type": "accept", "version": 1, "undo_seconds": UNDO_SECONDS});
        assert_eq!(press(&mut model, "ja"), Act::Answer(vec![("b".into(), accept)]));
        assert_eq!(press(&mut model, "i"), Act::Nothing);
        assert_eq!(model.note, "it cannot be ignored");
        let response = json!({"type": "respond", "text": "no q", "version": 1, "undo_seconds": UNDO_SECONDS});
        assert_eq!(press(&mut model, "rno q\n"), Act::Answer(vec![("b".into(), response)]));
        model.finish(None);
        for modifiers in [KeyModifiers::CONTROL, KeyModifiers::ALT] {
            let prefixed = KeyEvent::new(KeyCode::Char('a'), modifiers);
            assert_eq!(model.key(prefixed), Act::Nothing, "a key of the terminal answers nothing");
        }
        assert_eq!(model.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Act::Quit);
        assert_eq!(press(&mut model, "k\u{1b}"), Act::Quit);
    }

    #[test]
    fn arguments_are_edited_as_json() {
        let mut model = model(&["a"]);
        press(&mut model, "e");
        assert_eq!(model.typing, Some(TextEntry::Edit(r#"{"command":"cargo test"}"#.into())));
        assert_eq!(press(&mut model, "\u{8}\n"), Act::Nothing);
        assert_eq!(model.note, "the arguments are not a JSON object");
        let args = json!({"command": "cargo test"});
        let edit = json!({"type": "edit", "args": args, "version": 1, "undo_seconds": UNDO_SECONDS});
        assert_eq!(press(&mut model, "}\n"), Act::Answer(vec![("a".into(), edit)]));
    }

    #[test]
    fn a_request_is_given_to_another_person() {
        let mut model = model(&["a"]);
        assert_eq!(press(&mut model, "d\n"), Act::Nothing);
        assert_eq!(model.note, "name a person, @OWNER.NAME");
        assert_eq!(press(&mut model, "nick.bob\n"), Act::Delegate("a".into(), "@nick.bob".into()));
        model.finish(None);
        assert_eq!(model.typing, None);
    }

    #[test]
    fn a_typed_text_stays_until_the_server_has_taken_it() {
        let mut model = model(&["a", "b"]);
        assert!(matches!(press(&mut model, "rno\n"), Act::Answer(_)));
        model.finish(Some("nothing listens".into()));
        assert_eq!(
            (&model.typing, &*model.note),
            (&Some(TextEntry::Respond("no".into())), "nothing listens")
        );
        assert_eq!(press(&mut model, "t"), Act::Nothing);
        assert_eq!(model.note, "", "the field has the whole line again");
        let Act::Answer(answers) = press(&mut model, "\n") else { panic!("an answer") };
        assert_eq!(answers[0].1["text"], "not");
        model.finish(None);
        assert_eq!(model.typing, None);
    }

    #[test]
    fn a_rule_is_made_from_an_answer_where_there_is_a_tool() {
        let mut model = model(&["a"]);
        let rule = json!({"agent": "@nick.cc", "tool": "Bash", "expires_in_days": RULE_DAYS, "directory": "/src/app"});
        let body = json!({"type": "accept", "version": 1, "undo_seconds": UNDO_SECONDS, "rule": rule});
        assert_eq!(press(&mut model, "A"), Act::Answer(vec![("a".into(), body)]));
        let mut plain = request("b");
        plain["action"] = Value::Null;
        model.replace(vec![request("a"), plain]);
        assert_eq!(press(&mut model, "jA"), Act::Nothing);
        assert_eq!(model.note, "no rule can be made of it: a rule is for a tool");
    }

    #[test]
    fn no_key_hits_another_request_when_the_list_changes() {
        let mut model = model(&["a", "b", "c"]);
        press(&mut model, "j");
        model.replace(vec![request("b"), request("c")]);
        assert_eq!(current(&model), Some("b"), "it stays in view");
        press(&mut model, "rhalf");
        model.replace(vec![request("c")]);
        assert_eq!((current(&model), &model.typing), (None, &None), "what was typed was for the other one");
        assert_eq!(press(&mut model, "an answer, quite zany, j"), Act::Nothing, "the rest of the words");
        assert_eq!(press(&mut model, "\u{1b}"), Act::Nothing, "this only goes on");
        assert_eq!(current(&model), Some("c"));
        model.replace(Vec::new());
        assert_eq!(current(&model), None);
        model.replace(vec![request("d")]);
        assert_eq!(press(&mut model, "a"), Act::Nothing, "nobody has looked at it");
        assert!(matches!(press(&mut model, "ja"), Act::Answer(_)));
    }

    #[test]
    fn a_key_that_is_held_answers_one_request() {
        let mut model = model(&["a", "b"]);
        assert!(matches!(press(&mut model, "a"), Act::Answer(_)));
        model.answered(vec!["a".into()], TimestampMs(0));
        model.replace(vec![request("b")]);
        assert_eq!(press(&mut model, "aaa"), Act::Nothing);
        assert_eq!(press(&mut model, "u"), Act::Undo(vec!["a".into()]));
    }

    #[test]
    fn an_answer_is_offered_for_undoing_as_long_as_the_server_takes_it_back() {
        let mut model = model(&["a", "b"]);
        let answer = |model: &mut Model| {
            model.answered(vec!["a".into()], TimestampMs(1_000));
            model.expire(TimestampMs(8_999));
            assert!(model.note.starts_with("answered 1"), "{}", model.note);
        };
        answer(&mut model);
        model.expire(TimestampMs(9_000));
        assert_eq!(model.note, "");
        assert_eq!(press(&mut model, "u"), Act::Nothing);
        assert_eq!(model.note, "there is nothing to undo");
        answer(&mut model);
        model.note = "not connected".into();
        model.expire(TimestampMs(9_000));
        assert_eq!(model.note, "not connected", "another note stays");
    }

    #[test]
    fn marked_requests_are_answered_and_undone_together() {
        let mut model = model(&["a", "b", "c"]);
        let Act::Answer(answers) = press(&mut model, "xxa") else { panic!("an answer") };
        let ids: Vec<_> = answers.into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, ["a", "b"]);
        model.answered(ids.clone(), TimestampMs(0));
        assert!(!model.is_picked("a"));
        assert_eq!(press(&mut model, "u"), Act::Undo(ids));
        assert_eq!(press(&mut model, "u"), Act::Nothing);
        assert_eq!(press(&mut model, "z"), Act::Snooze("c".into()));
    }
}
