//! Follows one run to its end: asks its questions at the terminal, and cancels it on Ctrl-C.
//! Must not know: how it was started.

use std::io::IsTerminal;

use plenary_client::{
    Client, Error,
    frames::StreamOptions,
    runs::{EventBody, FinishReason, RunEvent, RunStream, Signal},
};

use super::{prompt::Prompt, words::Voice};
use crate::{
    cli::{
        context::Context,
        failure::{Exit, Failure},
        interrupts::Interrupts,
    },
    out::clean,
};

/// Someone who follows a run.
pub(super) struct Follower<'a> {
    context: &'a Context,
    client: &'a Client,
    agent: &'a str,
    /// Which run; none before the server has taken it.
    run: Option<String>,
    interrupts: Interrupts,
    /// Whether Ctrl-C was heard.
    canceling: bool,
}

enum Came {
    Signal(Option<Signal>),
    Line(Option<String>),
}

impl<'a> Follower<'a> {
    pub(super) fn new(context: &'a Context, client: &'a Client, agent: &'a str) -> Result<Self, Failure> {
        let interrupts = Interrupts::new()?;
        Ok(Self { context, client, agent, run: None, interrupts, canceling: false })
    }

    /// Waits for work, and minds Ctrl-C meanwhile.
    pub(super) async fn heed<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
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
            return Err(Failure::Said(Exit::Canceled));
        }
        self.canceling = true;
        if std::io::stderr().is_terminal() {
            // Behind the ^C that the terminal shows.
            self.context.out.note("");
        }
        self.context.out.note("canceling; press Ctrl-C again to exit at once");
        self.cancel().await
    }

    async fn cancel(&mut self) -> Result<(), Failure> {
        let Some(run) = &self.run else { return Ok(()) };
        tokio::select! {
            canceled = self.client.cancel_run(self.agent, run) => match canceled {
                // It is over by now; its end says how.
                Err(Error::Refused(refused)) if refused.status == 409 => Ok(()),
                canceled => Ok(canceled.map(|_| ())?),
            },
            () = self.interrupts.next() => Err(Failure::Said(Exit::Canceled)),
        }
    }

    /// Follows this run behind an event, to its end.
    pub(super) async fn follow(mut self, run: String, after: Option<u64>) -> Result<(), Failure> {
        self.run = Some(run.clone());
        if self.canceling {
            self.cancel().await?;
        }
        let out = self.context.out;
        let mut stream = self.client.follow_run(self.agent, &run, after, StreamOptions::default());
        let mut voice = Voice::new(out, self.client.base().clone());
        let mut prompt = Prompt::new(out);
        let mut asked = None;
        loop {
            match self.heed(next(&mut stream, &mut prompt)).await?? {
                Came::Line(None) => {
                    // Behind the question.
                    out.note("");
                    return Err(self.left_waiting(&run, &prompt.unanswered()));
                }
                Came::Line(Some(line)) => {
                    if let Some(answers) = prompt.answer(&line) {
                        let resuming = self.client.resume_run(self.agent, &run, asked, &answers);
                        match self.heed(resuming).await? {
                            // Somebody else was faster; what came of it is told.
                            Err(Error::Refused(refused)) if refused.status == 409 => {
                                out.note(&refused.message);
                            }
                            resumed => drop(resumed?),
                        }
                    }
                }
                Came::Signal(Some(Signal::Event(event))) => {
                    if event.id.is_some() {
                        prompt.drop_questions();
                        asked = event.id;
                    }
                    self.heed(voice.tell(&event)).await??;
                    self.went_on(&event, &mut prompt)?;
                }
                Came::Signal(signal) => {
                    if said(self.context, (self.agent, &run), signal)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Asks what the run wants to know, and ends with it.
    fn went_on(&self, event: &RunEvent, prompt: &mut Prompt) -> Result<(), Failure> {
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
            Some(FinishReason::Error) => Err(Failure::Said(Exit::Refused)),
            Some(FinishReason::Canceled) => Err(Failure::Said(Exit::Canceled)),
            Some(FinishReason::Success) | None => Ok(()),
        }
    }

    fn left_waiting(&self, run: &str, keys: &[String]) -> Failure {
        let keys: Vec<String> = keys.iter().map(|key| format!(" {}=…", clean(key))).collect();
        let keys = if keys.is_empty() { " key=…".to_owned() } else { keys.concat() };
        self.context.out.note(&format!(
            "the run waits for input; answer with `plenary run {} --resume {run}{keys}`, or stop it with `plenary runs cancel {0} \
             {run}`",
            self.agent
        ));
        Failure::Said(Exit::Unanswered)
    }
}

async fn next(stream: &mut RunStream, prompt: &mut Prompt) -> Result<Came, Failure> {
    let is_asking = prompt.is_asking();
    tokio::select! {
        signal = stream.next() => Ok(Came::Signal(signal?)),
        line = prompt.line(), if is_asking => Ok(Came::Line(line)),
    }
}

/// Says what is up with the stream; whether it is at its end.
pub(super) fn said(
    context: &Context,
    (agent, run): (&str, &str),
    signal: Option<Signal>,
) -> Result<bool, Failure> {
    match signal {
        None => return Ok(true),
        // It may have been the end, or a question.
        Some(Signal::Unreadable(error)) => {
            let next = format!("the run itself continues; `plenary runs show {agent} {run}` shows its state");
            return Err(Failure::local_with(
                format!("the next event of the run cannot be read: {error}"),
                next,
            ));
        }
        Some(Signal::Lost { reason, retry_in }) => {
            context
                .out
                .note(&format!("not connected: {reason}; reconnecting in {:.1} s", retry_in.as_secs_f32()));
        }
        Some(Signal::Opened | Signal::Keepalive | Signal::Event(_)) => {}
    }
    Ok(false)
}
