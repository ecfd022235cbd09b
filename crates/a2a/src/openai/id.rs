//! The id of a response, and the time in it. Pure.
//! Must not know: whether there is such a response.

use std::fmt;

/// `resp_<run>.<number>.<agent>`: the number is the last event of the run before the response, since a run that asks
/// a question has several responses. Without a number it is the first response; an id without an agent was made
/// before ids named the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResponseId {
    pub(super) run: String,
    pub(super) number: u64,
    pub(super) agent: Option<String>,
}

impl ResponseId {
    pub(super) fn new(run: &str, number: u64, agent: &str) -> Self {
        Self { run: run.to_owned(), number, agent: Some(agent.trim_start_matches('@').to_owned()) }
    }

    pub(super) fn read(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix("resp_")?.splitn(3, '.');
        let run = parts.next().filter(|run| !run.is_empty())?.to_owned();
        let number = parts.next().map_or(Ok(0), str::parse).ok()?;
        Some(Self { run, number, agent: parts.next().filter(|agent| !agent.is_empty()).map(str::to_owned) })
    }
}

/// The time at which a run began, in seconds since the epoch: its id is a UUID of version 7, which starts with it. So each
/// answer about a run has the same time, repeated ones too.
pub(super) fn began_at(run: &str) -> i64 {
    let time: String = run.chars().filter(|character| *character != '-').take(12).collect();
    i64::from_str_radix(&time, 16).map_or(0, |milliseconds| milliseconds / 1_000)
}

impl fmt::Display for ResponseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, number, agent } = self;
        write!(f, "resp_{run}.{number}.{}", agent.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_run_is_in_its_id() {
        assert_eq!(began_at("01a22bb0-0c6f-7fe1-ade3-ce6996e05c5b"), 1_796_029_287);
        assert_eq!(began_at("no run"), 0);
    }

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = ResponseId::new("01a2-0b", 7, "@plenary.echo");
        assert_eq!(id.to_string(), "resp_01a2-0b.7.plenary.echo");
        assert_eq!(ResponseId::read(&id.to_string()), Some(id));
        for (old, number) in [("resp_01a2", 0), ("resp_01a2.3", 3)] {
            let read = ResponseId::read(old).unwrap();
            assert_eq!((read.run.as_str(), read.number, read.agent), ("01a2", number, None), "{old}");
        }
        for bad in ["", "resp_", "resp_.1.echo", "01a2", "resp_01a2.x.echo", "resp_01a2.-1.echo"] {
            assert_eq!(ResponseId::read(bad), None, "{bad}");
        }
    }
}
