//! The filters of a subscriber (section 8 of the memo). A frame must satisfy every clause; an unreadable filter is
//! refused, because a silently dropped clause would show more frames than requested.
//! Must not know: how frames reach a subscriber.

use plenary_kernel::{OwnerName, SovereignHandle};

use crate::{
    catalogue::Kind,
    limits::FILTER_CLAUSES_MAX,
    malformed::{Code, FrameFault},
    session::ToolClass,
};

/// A filter; the empty one admits everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter(Vec<Clause>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Clause {
    Kind(Kind),
    Sender(SovereignHandle),
    /// No payload of version 1.0 has a content type, so this clause admits nothing (FO-67).
    ContentType,
    Tool(ToolClass),
    Org(OwnerName),
}

/// The properties of a frame that filters compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traits {
    /// The frame's kind.
    pub kind: Kind,
    /// Its sender.
    pub sender: SovereignHandle,
    /// The class of tools of the session that sent it.
    pub tool: ToolClass,
    /// The organisation of its scope.
    pub org: Option<OwnerName>,
}

impl Filter {
    /// Parses `axis:value,axis:value…`.
    ///
    /// # Errors
    /// `filter-axis-unknown` for an unknown axis, an empty clause or one without a colon;
    /// `filter-value-invalid`.
    pub fn parse(text: &str) -> Result<Self, FrameFault> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        if text.split(',').count() > FILTER_CLAUSES_MAX {
            let message = format!("A filter may have at most {FILTER_CLAUSES_MAX} clauses.");
            return Err(FrameFault::of(Code::FilterValueInvalid, "filter", message));
        }
        text.split(',').map(clause).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a frame satisfies every clause.
    pub fn admits(&self, frame: &Traits) -> bool {
        self.0.iter().all(|clause| match clause {
            Clause::Kind(kind) => frame.kind == *kind,
            Clause::Sender(sender) => frame.sender == *sender,
            Clause::ContentType => false,
            Clause::Tool(tool) => frame.tool == *tool,
            Clause::Org(org) => frame.org.as_ref() == Some(org),
        })
    }
}

fn clause(text: &str) -> Result<Clause, FrameFault> {
    let unknown = || {
        let message =
            "A filter is a list of axis:value; the axes are kind, sender, content_type, tool and org.";
        FrameFault::of(Code::FilterAxisUnknown, "filter", message)
    };
    let invalid = |axis: &str, expected: &str| {
        FrameFault::of(Code::FilterValueInvalid, "filter", format!("`{axis}` takes {expected}."))
    };
    let (axis, value) = text.split_once(':').ok_or_else(unknown)?;
    match axis {
        "kind" => {
            Kind::named(value).map(Clause::Kind).ok_or_else(|| invalid(axis, "one of the fifteen kinds"))
        }
        "sender" => {
            value.parse().map(Clause::Sender).map_err(|_| invalid(axis, "a canonical handle, ~owner"))
        }
        "content_type" if value.is_empty() => Err(invalid(axis, "a content type")),
        "content_type" => Ok(Clause::ContentType),
        "tool" => value.parse().map(Clause::Tool).map_err(|_| invalid(axis, "a tool class, e.g. cc")),
        "org" => value.parse().map(Clause::Org).map_err(|_| invalid(axis, "an organisation's name")),
        _ => Err(unknown()),
    }
}
