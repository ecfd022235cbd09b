//! A page of agents by handle, of which the caller is shown only some. Its cursor is sealed: from a position of its own choice,
//! a caller could find out which handles exist.
//! Must not know: which agents are shown.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use plenary_kernel::AgentHandle;
use plenary_log::{Fault, Order};
use plenary_room::SealingKey;

use super::request::invalid_cursor;
use crate::{
    Accounts, Actor, KnownAgent, agent::handle_of_key, answer::AccountRefusal, index::AGENTS,
    once::own_secret,
};

/// The purpose of the key.
const PURPOSE: &[u8] = b"plenary accounts: cursors of agents";
/// The length of a sealed key, so that a cursor does not tell the length of a handle.
const KEY_BYTES: usize = 136;

/// Agents that are loaded ahead of their examination.
const LOADED_TOGETHER: usize = 128;

/// The rows of a page, and the cursor of the next one.
pub(crate) type PageOf<T> = (Vec<T>, Option<String>);

/// A page of the matching agents, and the cursor of the next page, which only the bearer can use. The page has at most the first number
/// of agents, and examines at most the second. A cursor means that one more agent is shown, or that so many were
/// examined; an agent that is not shown makes no other difference.
pub(super) async fn look_through<T>(
    accounts: &Accounts,
    bearer: &Actor,
    (prefix, cursor): (&str, Option<&str>),
    (limit, agents_read_max): (usize, usize),
    matches: impl Fn(&AgentHandle) -> bool,
    show: impl Fn(&KnownAgent) -> Option<T>,
) -> Result<PageOf<T>, AccountRefusal> {
    let after = match cursor {
        Some(cursor) => Some(unsealed(&key(accounts).await?, bearer, cursor).ok_or_else(invalid_cursor)?),
        None => None,
    };
    let (mut page, mut agents_read, mut examined) = (Vec::new(), 0_usize, after.clone().unwrap_or_default());
    let mut rows = accounts.log().index_rows_after(AGENTS, prefix, after, Order::Ascending);
    while let Some(row) = rows.next().await? {
        let handle = handle_of_key(&row.key)?;
        if agents_read.is_multiple_of(LOADED_TOGETHER) {
            let next = rows.waiting().iter().map(|row| handle_of_key(&row.key));
            let next = [Ok(handle.clone())].into_iter().chain(next).take(LOADED_TOGETHER).flatten();
            accounts.load(&next.filter(&matches).collect::<Vec<_>>()).await;
        }
        let is_cut = agents_read == agents_read_max;
        let shown = if !is_cut && matches(&handle) { show(&accounts.agent(&handle).await?) } else { None };
        if is_cut || shown.is_some() && page.len() == limit {
            return Ok((page, Some(sealed(&key(accounts).await?, bearer, &examined)?)));
        }
        agents_read += 1;
        page.extend(shown);
        examined = row.key;
    }
    Ok((page, None))
}

async fn key(accounts: &Accounts) -> Result<SealingKey, Fault> {
    Ok(SealingKey::derived(&own_secret(accounts).await?, PURPOSE))
}

/// The cursor of the page after a key of the index.
fn sealed(key: &SealingKey, bearer: &Actor, examined: &str) -> Result<String, Fault> {
    let mut text = examined.as_bytes().to_vec();
    text.resize(KEY_BYTES.max(text.len()), 0);
    let sealed = key.seal(&bearer.to_string(), text);
    sealed
        .map(|cursor| URL_SAFE_NO_PAD.encode(cursor))
        .ok_or_else(|| Fault::Corrupt("no random bytes".into()))
}

/// The key of the index in a cursor of this server for the bearer.
fn unsealed(key: &SealingKey, bearer: &Actor, cursor: &str) -> Option<String> {
    let text = key.unseal(&bearer.to_string(), &URL_SAFE_NO_PAD.decode(cursor).ok()?)?;
    Some(String::from_utf8(text).ok()?.trim_end_matches('\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_counts_for_its_bearer_and_tells_no_length() {
        let key = SealingKey::derived(b"secret", PURPOSE);
        let (me, other): (Actor, Actor) = ("@a.b".parse().unwrap(), "~a".parse().unwrap());
        let longest = format!("{}/{}", "o".repeat(64), "n".repeat(64));
        let cursors = ["a/b", &longest].map(|examined| sealed(&key, &me, examined).unwrap());
        assert_eq!(cursors[0].len(), cursors[1].len());
        assert_eq!(unsealed(&key, &me, &cursors[0]).as_deref(), Some("a/b"));
        assert_eq!(unsealed(&key, &me, &cursors[1]), Some(longest));
        assert_eq!(unsealed(&key, &other, &cursors[0]), None);
        for invented in ["", "@a.b", "@a.b+1", "x"] {
            assert_eq!(unsealed(&key, &me, invented), None, "{invented}");
        }
    }
}
