//! The cursor of a search: how many hits were shown, and the position in the agents. Pure.
//! Must not know: the search.

use std::{fmt, str::FromStr};

/// The start of the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The number of hits shown so far; `None` if there are no more.
    pub(crate) hits: Option<usize>,
    /// The cursor of the agents; `None` if there are no more.
    pub(crate) agents: Option<String>,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hits {
            Some(hits) => write!(f, "{hits}!")?,
            None => f.write_str("!")?,
        }
        f.write_str(self.agents.as_deref().unwrap_or_default())
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (hits, agents) = text.split_once('!').ok_or(())?;
        let hits = (!hits.is_empty()).then(|| hits.parse()).transpose().map_err(|_| ())?;
        let agents = (!agents.is_empty()).then(|| agents.to_owned());
        if hits.is_none() && agents.is_none() { Err(()) } else { Ok(Self { hits, agents }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let agents = || Some("@a.b+3".to_owned());
        for (cursor, text) in [
            (Cursor { hits: Some(20), agents: agents() }, "20!@a.b+3"),
            (Cursor { hits: Some(20), agents: None }, "20!"),
            (Cursor { hits: None, agents: agents() }, "!@a.b+3"),
        ] {
            assert_eq!(cursor.to_string(), text);
            assert_eq!(text.parse(), Ok(cursor));
        }
        for invalid in ["", "!", "@a.b", "x!", "-1!@a.b"] {
            assert_eq!(invalid.parse::<Cursor>(), Err(()), "{invalid}");
        }
    }
}
