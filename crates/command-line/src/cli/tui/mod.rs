//! `plenary requests --tui`: waiting requests in the terminal, live.
//! Must not know: the effect of an answer.

mod model;
mod view;

use std::{io::IsTerminal as _, time::Duration};

use plenary_client::{
    Client, Signal, StreamOptions, console::WatchQuery, context::ContextStream, requests::RequestsQuery,
};
use plenary_kernel::AskId;
use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event, KeyEvent, KeyEventKind},
};
use rustix::termios::tcgetwinsize;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{Interval, MissedTickBehavior, interval},
};

use self::model::{Act, Model, SNOOZE_MS};
use super::{context::Context, failure::Failure, identity::Realm, requests::decider};

/// Maximum number of requests shown.
const SHOWN_MAX: usize = 200;
/// How often the ages are updated.
const EVERY: Duration = Duration::from_secs(1);
/// How long a read of the keyboard waits before it checks whether the page is still open.
const POLL: Duration = Duration::from_millis(200);
/// How often the list is read again: the end of a snooze is not an event.
const REFRESH: Duration = Duration::from_secs(30);
/// Maximum number of queued keys; beyond it, typing waits.
const KEYS_MAX: usize = 64;

/// A failure in one line below the page.
fn describe(failure: &Failure) -> String {
    match failure {
        Failure::Call(error) | Failure::Refused { error, .. } => error.to_string(),
        Failure::Usage { what, .. }
        | Failure::Auth { what, .. }
        | Failure::Unreachable { what, .. }
        | Failure::Local { what, .. } => what.clone(),
        Failure::Output(error) => error.to_string(),
        Failure::Reported(_) => String::new(),
    }
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::local(format!("the terminal: {error}"))
}

/// Why the page cannot be drawn on a terminal of this kind and of this number of columns and rows.
fn undrawable(kind: Option<&str>, size: Option<(u16, u16)>) -> Option<String> {
    match (kind, size) {
        (None, _) => Some("--tui needs a terminal, and the variable TERM does not name one".to_owned()),
        (Some("dumb"), _) => {
            Some("--tui needs a terminal that can place text, and TERM is `dumb`".to_owned())
        }
        (Some(_), Some((columns, rows))) if columns == 0 || rows == 0 => Some(format!(
            "the terminal says that it has {columns} columns and {rows} rows; `stty cols 80 rows 24` sets them"
        )),
        (Some(_), _) => None,
    }
}

/// Refuses a terminal on which the page cannot be drawn.
fn check_terminal(context: &Context) -> Result<(), Failure> {
    let refused = |why: String| Err(Failure::usage(why, "plenary requests list"));
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return refused("--tui needs a terminal".to_owned());
    }
    let size = tcgetwinsize(std::io::stdout()).ok().map(|size| (size.ws_col, size.ws_row));
    undrawable(context.environment.var("TERM").as_deref(), size).map_or(Ok(()), refused)
}

/// Shows the page until the user leaves it.
pub(crate) async fn run(context: &Context) -> Result<(), Failure> {
    check_terminal(context)?;
    let client = context.configuring_client(Realm::Everything)?;
    let decider = decider(context).await?;
    // Report an error of the token or the server before the page opens.
    let mut model = Model::default();
    let (requests, has_more) = waiting(&client).await?;
    model.replace(requests);
    model.has_more = has_more;
    let query = WatchQuery { rooms: Some("requests".to_owned()), ..WatchQuery::default() };
    let stream = client.watch(&query, None, StreamOptions::default());
    let mut terminal = ratatui::try_init().map_err(|error| broken(&error))?;
    let outcome = show((&client, &decider), &mut terminal, model, stream).await;
    ratatui::restore();
    outcome
}

/// The waiting requests, oldest first, and whether there are more than are shown.
async fn waiting(client: &Client) -> Result<(Vec<Value>, bool), Failure> {
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut page = client.requests(&RequestsQuery::default(), cursor.as_deref()).await?.value;
        if let Some(requests) = page["requests"].as_array_mut() {
            all.append(requests);
        }
        match page["next_cursor"].as_str() {
            Some(next) if cursor.as_deref() != Some(next) && all.len() < SHOWN_MAX => {
                cursor = Some(next.to_owned());
            }
            next => return Ok((all, next.is_some())),
        }
    }
}

/// The typed keys, until the receiver is dropped.
fn keyboard() -> mpsc::Receiver<KeyEvent> {
    let (sender, receiver) = mpsc::channel(KEYS_MAX);
    tokio::task::spawn_blocking(move || {
        while !sender.is_closed() {
            let key = match event::poll(POLL) {
                Ok(false) => continue,
                Ok(true) => event::read(),
                Err(_) => return,
            };
            match key {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    if sender.blocking_send(key).is_err() {
                        return;
                    }
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    });
    receiver
}

/// Ticks that do not catch up: while the terminal is suspended, or the machine sleeps, many are missed.
fn ticking(every: Duration) -> Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

async fn show(
    (client, decider): (&Client, &Client),
    terminal: &mut DefaultTerminal,
    mut model: Model,
    mut stream: ContextStream,
) -> Result<(), Failure> {
    let (mut keys, mut ticks, mut refreshes) = (keyboard(), ticking(EVERY), ticking(REFRESH));
    loop {
        model.expire(client.now());
        let mut scroll_max = 0;
        terminal
            .draw(|frame| scroll_max = view::draw(frame, &model, client.now()))
            .map_err(|error| broken(&error))?;
        model.scroll = model.scroll.min(scroll_max);
        tokio::select! {
            key = keys.recv() => {
                let Some(key) = key else { return Ok(()) };
                model.expire(client.now());
                let act = model.key(key);
                if matches!(act, Act::Quit) {
                    return Ok(());
                }
                if !matches!(act, Act::Nothing) {
                    let failure = perform(decider, &mut model, act).await.err();
                    model.finish(failure.as_ref().map(describe));
                    refresh(client, &mut model).await;
                }
            }
            signal = stream.next() => match signal? {
                Signal::Opened => {
                    model.live = true;
                    refresh(client, &mut model).await;
                }
                Signal::Keepalive | Signal::Unreadable(_) => {}
                Signal::Lost { .. } => model.live = false,
                Signal::Event(event) => {
                    if event.json.contains("\"request.") {
                        refresh(client, &mut model).await;
                    }
                }
            },
            _ = ticks.tick() => {}
            _ = refreshes.tick() => refresh(client, &mut model).await,
        }
    }
}

async fn refresh(client: &Client, model: &mut Model) {
    match waiting(client).await {
        Ok((requests, has_more)) => {
            model.replace(requests);
            model.has_more = has_more;
        }
        Err(failure) => model.note = describe(&failure),
    }
}

fn id(text: &str) -> Result<AskId, Failure> {
    text.parse().map_err(|_| Failure::local("the server named a request that cannot be"))
}

async fn perform(client: &Client, model: &mut Model, act: Act) -> Result<(), Failure> {
    match act {
        Act::Nothing | Act::Quit => {}
        Act::Answer(answers) => {
            let mut sent = Vec::new();
            for (request, body) in answers {
                client.answer_request(&id(&request)?, &body).await?;
                sent.push(request);
                model.answered(sent.clone(), client.now());
            }
        }
        Act::Undo(requests) => {
            for request in requests {
                client.undo_request(&id(&request)?).await?;
            }
            model.note = "undone".to_owned();
        }
        Act::Delegate(request, to) => {
            client.delegate_request(&id(&request)?, &to).await?;
            model.note = format!("given to {to}");
        }
        Act::Snooze(request) => {
            client
                .snooze_request(&id(&request)?, client.server_now().await.0.saturating_add(SNOOZE_MS))
                .await?;
            model.note = "it returns in an hour".to_owned();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_drawn_only_where_it_can_be() {
        assert_eq!(undrawable(Some("xterm-256color"), Some((80, 24))), None);
        assert_eq!(undrawable(Some("xterm"), None), None, "the size may be unknown");
        for (kind, size, word) in [
            (None, Some((80, 24)), "TERM"),
            (Some("dumb"), Some((80, 24)), "`dumb`"),
            (Some("xterm"), Some((0, 24)), "0 columns"),
            (Some("xterm"), Some((80, 0)), "0 rows"),
        ] {
            let why = undrawable(kind, size);
            assert!(why.as_ref().is_some_and(|why| why.contains(word)), "{kind:?} {size:?}: {why:?}");
        }
    }
}
