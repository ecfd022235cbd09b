//! Listens for other processes' commits: NOTIFY on a separate connection. A notification only makes the tail read
//! sooner.

use std::{future::poll_fn, sync::Arc, time::Duration};

use plenary_kernel::Position;
use tokio_postgres::{AsyncMessage, Client};

use crate::{
    StoreState,
    backoff::Backoff,
    target::{Purpose, Wire, unsigned, within},
    trouble::{Trouble, described},
};

/// Longest wait for the response to LISTEN, and to a check.
const LISTEN_MS_MAX: u64 = 3_000;
/// How often the connection is checked: a stalled connection reports nothing, not even its loss.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// Listens until the feed is gone.
pub(crate) async fn listen(shared: Arc<StoreState>) {
    let mut backoff = Backoff::default();
    loop {
        let trouble = tokio::select! {
            () = shared.tail_ended() => return,
            trouble = listen_once(&shared, &mut backoff) => trouble,
        };
        tracing::warn!(text = ?trouble, "not listening for other processes' commits; polling goes on");
        tokio::select! {
            () = shared.tail_ended() => return,
            () = tokio::time::sleep(backoff.pause()) => {}
        }
    }
}

/// Listens until the connection is lost.
async fn listen_once(shared: &StoreState, backoff: &mut Backoff) -> Trouble {
    let (client, wire) = match shared.target().dial(Purpose::Listening).await {
        Ok(dialled) => dialled,
        Err(error) => return error.trouble(),
    };
    let begin = async {
        if let Err(trouble) = within(LISTEN_MS_MAX, begin(shared, &client)).await {
            return trouble;
        }
        *backoff = Backoff::default();
        // The client must stay alive: dropping it ends the connection.
        loop {
            tokio::time::sleep(CHECK_EVERY).await;
            if let Err(trouble) = within(LISTEN_MS_MAX, client.batch_execute("")).await {
                return trouble;
            }
        }
    };
    tokio::select! {
        trouble = follow(shared, wire) => trouble,
        trouble = begin => trouble,
    }
}

/// Listens first and reads the head second, so that no commit is missed between the two.
async fn begin(shared: &StoreState, client: &Client) -> Result<(), Trouble> {
    client.batch_execute(&format!("LISTEN \"{}\"", shared.channel())).await?;
    let head = format!("SELECT last FROM \"{}\".head", shared.target().schema());
    let head = client.query_one(&head, &[]).await?;
    shared.committed_until(Position(unsigned(head.try_get(0)?)?));
    Ok(())
}

async fn follow(shared: &StoreState, mut wire: Wire) -> Trouble {
    loop {
        match poll_fn(|cx| wire.poll_message(cx)).await {
            Some(Ok(AsyncMessage::Notification(notification))) => {
                // Own commits reach the feed directly.
                if notification.process_id() != shared.writer()
                    && let Ok(position) = notification.payload().parse()
                {
                    shared.committed_until(Position(position));
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Trouble::Lost(described(&error)),
            None => return Trouble::Lost("the connection was closed".into()),
        }
    }
}
