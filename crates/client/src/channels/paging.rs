//! How a page of events says where the next one begins (CH-24). Pure.
//! Must not know: how a page is read.

use crate::RawReply;

/// Where the next page of events begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Older {
    /// With the events before this id.
    Before(u64),
    /// With the events after this id.
    After(u64),
}

impl Older {
    /// What the header `Link` of a page says; `None` where there is no more.
    #[must_use]
    pub fn of(page: &RawReply) -> Option<Self> {
        page.header("link").and_then(next)
    }
}

/// Reads `<…?limit=50&before_id=7>; rel="next"`.
fn next(link: &str) -> Option<Older> {
    let (url, rel) = link.strip_prefix('<')?.split_once('>')?;
    let parameter = |name: &str| {
        let query = url.split_once('?')?.1;
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
    };
    let older = parameter("before_id").map(Older::Before);
    older.or_else(|| parameter("after_id").map(Older::After)).filter(|_| rel.contains("next"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ch_24_a_link_says_how_to_go_on() {
        let link =
            |query: &str| next(&format!("<https://h/agent-channel/VHGC/events?{query}>; rel=\"next\""));
        assert_eq!(link("limit=50&kind=a%26before%5Fid%3D1&before_id=7&after_id=3"), Some(Older::Before(7)));
        assert_eq!(link("limit=50&after_id=3"), Some(Older::After(3)));
        assert_eq!(link("limit=50"), None);
        assert_eq!(next("<x?before_id=1>; rel=\"prev\""), None);
        assert_eq!(next("nonsense"), None);
    }
}
