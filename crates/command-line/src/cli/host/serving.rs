//! Between the connection and the runs: passes frames in and out, reports progress, handles signals.
//! Must not know: the content of a frame.

use std::{future::pending, time::Duration};

use plenary_client::attach::{Attachment, Signal};
use plenary_hosts::hosting::{AgentHost, HostEvent, HostedConnection};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};

use super::telling::HostReporter;
use crate::cli::{
    failure::{Exit, Failure},
    interrupts::Interrupts,
};

/// How long runs may take to end when the host stops; after that they are killed.
const STOP_TIME: Duration = Duration::from_millis(3_200);

/// A running host.
pub(super) struct ServedHost {
    interrupts: Interrupts,
    desk: HostConnectionState,
}

/// The connection, and the runs on it.
struct HostConnectionState {
    attachment: Attachment,
    hosting: AgentHost,
    teller: HostReporter,
    server: String,
    /// The connection, while it is open.
    standing: Option<HostConnection>,
}

struct HostConnection {
    attached: HostedConnection,
    happenings: mpsc::Receiver<HostEvent>,
}

enum Came {
    Signal(Signal),
    /// `None` when everything has ended.
    Happening(Option<HostEvent>),
}

impl ServedHost {
    pub(super) const fn new(
        attachment: Attachment,
        hosting: AgentHost,
        teller: HostReporter,
        server: String,
        interrupts: Interrupts,
    ) -> Self {
        let desk = HostConnectionState { attachment, hosting, teller, server, standing: None };
        Self { interrupts, desk }
    }

    /// Serves until a signal stops it, or the server refuses it for good.
    pub(super) async fn serve(mut self) -> Result<(), Failure> {
        loop {
            let came = tokio::select! {
                biased;
                () = self.interrupts.next() => return self.stop().await,
                came = self.desk.came() => came?,
            };
            tokio::select! {
                biased;
                taken = self.desk.take(came) => taken?,
                // Does not wait for a reader that does not read the messages.
                () = self.interrupts.next() => return self.stop().await,
            }
        }
    }

    async fn stop(mut self) -> Result<(), Failure> {
        let by = Instant::now() + STOP_TIME;
        let ended = tokio::select! {
            ended = timeout_at(by, self.desk.end()) => ended.unwrap_or(Ok(())),
            () = self.interrupts.next() => return Err(Failure::Said(Exit::Canceled)),
        };
        self.desk.attachment.close().await;
        ended
    }
}

impl HostConnectionState {
    /// Waits for the next event. May be dropped while it waits: nothing is lost.
    async fn came(&mut self) -> Result<Came, Failure> {
        let has_room = self.attachment.has_room();
        let happening = async {
            match &mut self.standing {
                Some(standing) if has_room => standing.happenings.recv().await,
                Some(_) | None => pending().await,
            }
        };
        tokio::select! {
            biased;
            signal = self.attachment.next() => Ok(Came::Signal(signal?)),
            happening = happening => Ok(Came::Happening(happening)),
        }
    }

    /// Handles an event. May be dropped while it waits: it only waits for its message to be printed.
    async fn take(&mut self, came: Came) -> Result<(), Failure> {
        match came {
            Came::Signal(Signal::Attached) => {
                let (attached, happenings) = self.hosting.attached();
                self.standing = Some(HostConnection { attached, happenings });
                self.teller.attached(&self.server).await
            }
            Came::Signal(Signal::Frame(frame)) => {
                if let Some(standing) = &self.standing {
                    standing.attached.hear(&frame);
                }
                Ok(())
            }
            Came::Signal(Signal::Lost { reason, retry_in }) => {
                let runs = self.standing.take().map_or(0, |standing| standing.attached.runs());
                self.teller.lost(&reason, retry_in, runs).await
            }
            Came::Signal(Signal::LetGo { reason }) => {
                let next = "host it again to register it again";
                Err(Failure::local_with(format!("the agent was dismissed: {reason}"), next))
            }
            Came::Happening(Some(HostEvent::Frame(frame))) => {
                self.attachment.put(frame);
                Ok(())
            }
            Came::Happening(Some(happening)) => self.teller.of_run(&happening).await,
            Came::Signal(Signal::Sent) | Came::Happening(None) => Ok(()),
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
            match self.came().await? {
                Came::Happening(None) => self.standing = None,
                came @ (Came::Signal(_) | Came::Happening(Some(_))) => self.take(came).await?,
            }
        }
        Ok(())
    }
}
