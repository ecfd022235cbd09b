//! Checks at the NATS servers' monitoring addresses, if known, whether each server flushes a write before it
//! acknowledges it.
//! Must not know: the journals.

use std::time::Duration;

use anyhow::{Context as _, bail};
use http::Request;
use http_body_util::Full;
use plenary_outward::{Pool, client_config, within};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

/// The time limit of a request to a server.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How long a starting server is retried.
const START_MAX: Duration = Duration::from_secs(20);
const AGAIN: Duration = Duration::from_millis(250);
/// Largest answer, in bytes.
const BYTES_MAX: usize = 1 << 20;

/// Rejects servers that do not flush. Skips a server that does not answer, because it may be the one that is down; but one must
/// answer, or the addresses are wrong.
pub(crate) async fn check(monitors: &[String]) -> anyhow::Result<()> {
    let mut unanswered = 0;
    for monitor in monitors {
        match started(monitor).await {
            Ok(state) => refuse_unflushed(monitor, &state)?,
            Err(error) => {
                unanswered += 1;
                tracing::warn!(monitor, "it is not known whether a NATS server flushes: {error:#}");
            }
        }
    }
    if unanswered > 0 && unanswered == monitors.len() {
        bail!(
            "no monitoring address of --cluster-monitor answers, so it is not known whether the NATS servers flush; check the \
             addresses, or leave the setting out"
        );
    }
    Ok(())
}

/// The state of a server's JetStream, which a starting server reports as disabled at first. (`/varz` would lack the
/// configuration for good if its first request came before JetStream had started.)
async fn started(monitor: &str) -> anyhow::Result<Value> {
    let until = Instant::now() + START_MAX;
    loop {
        let state = read_state(monitor).await?;
        if state["disabled"] != true || Instant::now() >= until {
            return Ok(state);
        }
        sleep(AGAIN).await;
    }
}

async fn read_state(monitor: &str) -> anyhow::Result<Value> {
    let url = format!("{}/jsz", monitor.trim_end_matches('/'));
    let pool: Pool = Pool::new(client_config(url.starts_with("https:"), None, "in SSL_CERT_FILE")?);
    let request = Request::get(&url).body(Full::default()).context("the monitoring address is no URL")?;
    let response = async {
        let answer =
            pool.send(request).await.map_err(|error| anyhow::anyhow!(plenary_outward::deepest(&error)))?;
        within(answer.into_body(), BYTES_MAX).await.map_err(anyhow::Error::msg)
    };
    let body = timeout(ANSWER_MAX, response).await.context("it does not answer")??;
    serde_json::from_slice(&body).context("its answer is not JSON")
}

fn refuse_unflushed(monitor: &str, state: &Value) -> anyhow::Result<()> {
    if state["disabled"] == true {
        bail!(
            "the NATS server at {monitor} has no JetStream; `plenary cluster nats-conf` prints a configuration"
        );
    }
    if state["config"]["sync_always"] != true {
        bail!(
            "the NATS server at {monitor} acknowledges before it flushes (sync_interval is not `always`): a power failure of \
             all three loses the journal; `plenary cluster nats-conf` prints a configuration"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_that_does_not_flush_is_refused() {
        let state = |config: Value| json!({ "config": config });
        assert!(refuse_unflushed("m1", &state(json!({"sync_always": true}))).is_ok());
        for config in [json!({"sync_always": false}), json!({})] {
            let refused = refuse_unflushed("m1", &state(config)).unwrap_err().to_string();
            assert!(refused.contains("m1") && refused.contains("sync_interval"), "{refused}");
        }
        let disabled = json!({"disabled": true, "config": {}});
        assert!(refuse_unflushed("m1", &disabled).unwrap_err().to_string().contains("no JetStream"));
    }
}
