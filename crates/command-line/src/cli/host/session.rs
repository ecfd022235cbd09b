//! Between the connection and the runs: passes frames in and out, reports progress, handles signals.
//! Must not know: the content of a frame.

use std::{future::pending, time::Duration};

use plenary_client::attach::{Attachment, Signal};
use plenary_hosts::hosting::{AgentHost, HostEvent, HostedConnection};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};

use super::reporter::HostReporter;
use crate::{
    cli::failure::{Exit, Failure},
    interrupts::Interrupts,
};

/// How long runs may take to end when the host stops; after that they are killed.
const STOP_TIME: Duration = Duration::from_millis(3_200);

/// A running host.
pub(super) struct ServedHost {
    interrupts: Interrupts,
    connection: HostConnectionState,
}

/// The connection, and the runs on it.
struct HostConnectionState {
    attachment: Attachment,
    host: AgentHost,
    teller: HostReporter,
    server: String,
    /// The connection, while it is open.
    standing: Option<HostConnection>,
}

struct HostConnection {
    attached: HostedConnection,
    events: mpsc::Receiver<HostEvent>,
}

enum HostInput {
    Signal(Signal),
    /// `None` when everything has ended.
    Run(Option<HostEvent>),
}

impl ServedHost {
    pub(super) const fn new(
        attachment: Attachment,
        host: AgentHost,
        teller: HostReporter,
        server: String,
        interrupts: Interrupts,
    ) -> Self {
        let connection = HostConnectionState { attachment, host, teller, server, standing: None };
        Self { interrupts, connection }
    }

    /// Serves until a signal stops it, or the server refuses it for good.
    pub(super) async fn serve(mut self) -> Result<(), Failure> {
        loop {
            let input = tokio::select! {
                biased;
                () = self.interrupts.next() => return self.stop().await,
                input = self.connection.next_input() => input?,
            };
            tokio::select! {
                biased;
                handled = self.connection.handle(input) => handled?,
                // Does not wait for a reader that does not read the messages.
                () = self.interrupts.next() => return self.stop().await,
            }
        }
    }

    async fn stop(mut self) -> Result<(), Failure> {
        let deadline = Instant::now() + STOP_TIME;
        let ended = tokio::select! {
            ended = timeout_at(deadline, self.connection.end()) => ended.unwrap_or(Ok(())),
            () = self.interrupts.next() => return Err(Failure::Reported(Exit::Canceled)),
        };
        self.connection.attachment.close().await;
        ended
    }
}

impl HostConnectionState {
    /// Waits for the next event. May be dropped while it waits: nothing is lost.
    async fn next_input(&mut self) -> Result<HostInput, Failure> {
        let has_room = self.attachment.has_room();
        let event = async {
            match &mut self.standing {
                Some(standing) if has_room => standing.events.recv().await,
                Some(_) | None => pending().await,
            }
        };
        tokio::select! {
            biased;
            signal = self.attachment.next() => Ok(HostInput::Signal(signal?)),
            event = event => Ok(HostInput::Run(event)),
        }
    }

    /// Handles an event. May be dropped while it waits: it only waits for its message to be printed.
    async fn handle(&mut self, input: HostInput) -> Result<(), Failure> {
        match input {
            HostInput::Signal(Signal::Attached) => {
                let (attached, events) = self.host.open_connection();
                self.standing = Some(HostConnection { attached, events });
                self.teller.attached(&self.server).await
            }
            HostInput::Signal(Signal::Frame(frame)) => {
                if let Some(standing) = &self.standing {
                    standing.attached.handle_frame(&frame);
                }
                Ok(())
            }
            HostInput::Signal(Signal::Lost { reason, retry_in }) => {
                let runs = self.standing.take().map_or(0, |standing| standing.attached.runs());
                self.teller.lost(&reason, retry_in, runs).await
            }
            HostInput::Signal(Signal::Dismissed { reason }) => {
                let next = "host it again to register it again";
                Err(Failure::local_with(format!("the agent was dismissed: {reason}"), next))
            }
            HostInput::Run(Some(HostEvent::Frame(frame))) => {
                self.attachment.put(frame);
                Ok(())
            }
            HostInput::Run(Some(event)) => self.teller.of_run(&event).await,
            HostInput::Signal(Signal::Sent) | HostInput::Run(None) => Ok(()),
        }
    }

    /// Ends the runs, and reports that to the server.
    async fn end(&mut self) -> Result<(), Failure> {
        let Some(standing) = &mut self.standing else { return Ok(()) };
        standing.attached.stop();
        let runs = standing.attached.runs();
        if runs > 0 {
            self.teller.stopping(runs).await?;
        }
        while self.standing.is_some() {
            match self.next_input().await? {
                HostInput::Run(None) => self.standing = None,
                input @ (HostInput::Signal(_) | HostInput::Run(Some(_))) => self.handle(input).await?,
            }
        }
        Ok(())
    }
}
