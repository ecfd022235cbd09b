//! The idempotency key of a session that is created for the first message to some agents, so that parallel first messages
//! create one session. Pure.
//! Must not know: the message.

use crate::{AgentHandle, json::digest};

/// The key for these recipients and this topic. `earlier` is the newest session of the sender with them, which takes no messages
/// any more. Calls that find the same sessions get the same key.
#[must_use]
pub fn first_message_key(to: &[AgentHandle], topic: Option<&str>, earlier: Option<&str>) -> String {
    let mut to: Vec<&str> = to.iter().map(AgentHandle::as_str).collect();
    to.sort_unstable();
    to.dedup();
    let text = serde_json::json!([to, topic, earlier]).to_string();
    format!("first-message-{}", hex::encode(digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_that_of_the_recipients_the_topic_and_the_earlier_session() {
        let handles = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>();
        let key = |to: &[&str], topic, earlier| first_message_key(&handles(to), topic, earlier);
        let one = key(&["@a.b", "@a.c"], Some("x"), None);
        assert_eq!(one, key(&["@a.c", "@a.b", "@a.c"], Some("x"), None));
        for other in [
            key(&["@a.b"], Some("x"), None),
            key(&["@a.b", "@a.c"], None, None),
            key(&["@a.b", "@a.c"], Some("x"), Some("sess_1")),
            key(&["@a.b", "@a.c"], None, Some("x")),
        ] {
            assert_ne!(one, other);
        }
    }
}
