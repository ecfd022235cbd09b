//! Follows one run to its end: asks its questions at the terminal, and cancels it on Ctrl-C.
//! Must not know: how it was started.

use std::io::IsTerminal;

use plenary_client::{
    Client, Error, Signal, StreamOptions,
    runs::{EventBody, FinishReason, RunEvent, RunStream},
};
use plenary_kernel::text::hidden;

use super::{prompt::Prompt, render::RunPrinter};
use crate::{
    cli::{
        context::Context,
        failure::{Exit, Failure},
        shell::quoted,
        stream,
    },
    interrupts::Interrupts,
};

/// Follows a run at the terminal.
pub(super) struct Follower<'a> {
    context: &'a Context,
    client: &'a Client,
    agent: &'a str,
    /// The run; `None` until the server has accepted it.
    run: Option<String>,
    interrupts: Interrupts,
    /// Whether Ctrl-C was pressed.
    canceling: bool,
}

enum FollowInput {
    Signal(Option<Signal<Box<RunEvent>>>),
    Line(Option<String>),
}

impl<'a> Follower<'a> {
    pub(super) fn new(context: &'a Context, client: &'a Client, agent: &'a str) -> Result<Self, Failure> {
        let interrupts = Interrupts::new().map_err(|error| Failure::signals(&error))?;
        Ok(Self { context, client, agent, run: None, interrupts, canceling: false })
    }

    /// Waits for work, and handles Ctrl-C meanwhile.
    pub(super) async fn or_interrupt<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                () = self.interrupts.next() => self.interrupted().await?,
            }
        }
    }

    async fn interrupted(&mut self) -> Result<(), Failure> {
        if self.canceling {
            return Err(Failure::Reported(Exit::Canceled));
        }
        self.canceling = true;
        if std::io::stderr().is_terminal() {
            // Starts a new line after the ^C that the terminal shows.
            self.context.out.note("");
        }
        self.context.out.note("canceling; press Ctrl-C again to exit at once");
        self.cancel().await
    }

    async fn cancel(&mut self) -> Result<(), Failure> {
        let Some(run) = &self.run else { return Ok(()) };
        tokio::select! {
            canceled = self.client.cancel_run(self.agent, run) => match canceled {
                // The run is over already; its last event says how it ended.
                Err(Error::Refused(refused)) if refused.status == 409 => Ok(()),
                canceled => Ok(canceled.map(|_| ())?),
            },
            () = self.interrupts.next() => Err(Failure::Reported(Exit::Canceled)),
        }
    }

    /// Follows the run from after an event to its end.
    pub(super) async fn follow(mut self, run: String, after: Option<u64>) -> Result<(), Failure> {
        self.run = Some(run.clone());
        if self.canceling {
            self.cancel().await?;
        }
        let out = self.context.out;
        let mut stream = self.client.follow_run(self.agent, &run, after, StreamOptions::default());
        let mut printer = RunPrinter::new(out, self.client.base().clone());
        let mut prompt = Prompt::new(out);
        let mut last_event = None;
        loop {
            match self.or_interrupt(next(&mut stream, &mut prompt)).await?? {
                FollowInput::Line(None) => {
                    // Starts a new line after the question.
                    out.note("");
                    return Err(self.left_waiting(&run, &prompt.unanswered()));
                }
                FollowInput::Line(Some(line)) => {
                    if let Some(answers) = prompt.answer(&line) {
                        let resuming = self.client.resume_run(self.agent, &run, last_event, &answers);
                        match self.or_interrupt(resuming).await? {
                            // Somebody else answered first; the next events show the effect.
                            Err(Error::Refused(refused)) if refused.status == 409 => {
                                out.note(&refused.message);
                            }
                            resumed => drop(resumed?),
                        }
                    }
                }
                FollowInput::Signal(Some(Signal::Event(event))) => {
                    if event.id.is_some() {
                        prompt.drop_questions();
                        last_event = event.id;
                    }
                    self.or_interrupt(printer.print(&event)).await??;
                    self.handle_run_event(&event, &mut prompt)?;
                }
                FollowInput::Signal(signal) => {
                    if report_signal(self.context, (self.agent, &run), signal)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Asks the question in an event, if it is one. Fails if nobody can answer here, or if the run failed or was canceled.
    fn handle_run_event(&self, event: &RunEvent, prompt: &mut Prompt) -> Result<(), Failure> {
        if let EventBody::WaitForInput { request_keys } = &event.body
            && !self.canceling
        {
            if self.context.out.is_json() || !std::io::stdin().is_terminal() || request_keys.is_empty() {
                let keys: Vec<String> = request_keys.keys().cloned().collect();
                return Err(self.left_waiting(&event.run_id, &keys));
            }
            prompt.ask(request_keys);
        }
        match event.finish_reason() {
            Some(FinishReason::Error) => Err(Failure::Reported(Exit::Refused)),
            Some(FinishReason::Canceled) => Err(Failure::Reported(Exit::Canceled)),
            Some(FinishReason::Success) | None => Ok(()),
        }
    }

    fn left_waiting(&self, run: &str, keys: &[String]) -> Failure {
        let agent = quoted(self.agent);
        let how = match pairs(keys) {
            Some(pairs) => format!("answer with `plenary run {agent} --resume {run} {pairs}`"),
            None => format!("answer it at a terminal with `plenary run {agent} --resume {run}`"),
        };
        self.context.out.note(&format!(
            "the run waits for input; {how}, or stop it with `plenary runs cancel {agent} {run}`"
        ));
        Failure::Reported(Exit::Unanswered)
    }
}

/// The keys as words of a command, to which the values are added; `None` if a key cannot be written as one. The agent chose the keys.
fn pairs(keys: &[String]) -> Option<String> {
    if keys.is_empty() {
        return Some("key=…".to_owned());
    }
    let pair = |key: &String| {
        // As an option, with another end, or with a backtick that ends the command in the note, it would be another command.
        let is_word = !key.is_empty() && !key.starts_with('-') && !key.contains(['=', '`']);
        (is_word && hidden(key).next().is_none()).then(|| format!("{}=…", quoted(key)))
    };
    Some(keys.iter().map(pair).collect::<Option<Vec<_>>>()?.join(" "))
}

async fn next(stream: &mut RunStream, prompt: &mut Prompt) -> Result<FollowInput, Failure> {
    let has_question = prompt.has_question();
    tokio::select! {
        signal = stream.next() => Ok(FollowInput::Signal(signal?)),
        line = prompt.line(), if has_question => Ok(FollowInput::Line(line)),
    }
}

/// Reports a signal of the stream; returns whether the stream has ended.
pub(super) fn report_signal(
    context: &Context,
    (agent, run): (&str, &str),
    signal: Option<Signal<Box<RunEvent>>>,
) -> Result<bool, Failure> {
    match signal {
        None => return Ok(true),
        // The unreadable event may have been the end, or a question.
        Some(Signal::Unreadable(error)) => {
            let next = format!("the run itself continues; `plenary runs show {agent} {run}` shows its state");
            return Err(Failure::local_with(
                format!("the next event of the run cannot be read: {error}"),
                next,
            ));
        }
        Some(Signal::Lost { reason, retry_in }) => {
            stream::note_lost(context.out, &reason, retry_in);
        }
        Some(Signal::Opened | Signal::Keepalive | Signal::Event(_)) => {}
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_ends_the_command_that_answers_it() {
        let of = |keys: &[&str]| pairs(&keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&[]).as_deref(), Some("key=…"));
        assert_eq!(of(&["colour", "the size"]).as_deref(), Some("colour=… 'the size'=…"));
        assert_eq!(of(&["x; rm -rf ~ #"]).as_deref(), Some("'x; rm -rf ~ #'=…"));
        assert_eq!(of(&["$(id)'"]).as_deref(), Some(r"'$(id)'\'''=…"));
        for key in ["", "--url", "a=b", "a` and `b", "a\nb", "a\u{1b}[2J"] {
            assert_eq!(of(&["colour", key]), None, "{key:?}");
        }
    }
}
