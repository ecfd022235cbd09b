//! The states of a package and their transitions (AP-6, AP-7).
//! Must not know: permissions.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        $(#[$doc])*
        pub enum $name {
            $($(#[$of])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
            /// What a word means; `None` when it is none of them.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word)
            }
        }
    };
}

pub(crate) use words;

words! {
    /// The state of a package (section 5.3).
    Status {
        /// Work in progress.
        Draft = "draft",
        /// Blocked on a reviewer.
        AwaitingReview = "awaiting_review",
        /// A reviewer wants changes.
        RevisionRequested = "revision_requested",
        /// Final.
        Complete = "complete",
    }
}

words! {
    /// Who is to review a package (AP-24).
    ReviewType {
        /// Nobody.
        None = "none",
        /// A person.
        Human = "human",
        /// An agent.
        Agent = "agent",
    }
}

words! {
    /// The type of an actor (AP-27).
    ActorType {
        /// A person.
        Human = "human",
        /// An agent.
        Agent = "agent",
        /// A program.
        Script = "script",
    }
}

impl Status {
    /// Whether a package may change from this state to another. A state does not lead to itself.
    pub const fn leads_to(self, next: Self) -> bool {
        match self {
            Self::Draft => matches!(next, Self::Complete | Self::AwaitingReview),
            Self::AwaitingReview => matches!(next, Self::Complete | Self::RevisionRequested),
            Self::RevisionRequested => matches!(next, Self::AwaitingReview | Self::Complete),
            Self::Complete => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_6_ap_7_the_table_of_section_5_3_and_nothing_else() {
        let allowed = [
            ("draft", "complete"),
            ("draft", "awaiting_review"),
            ("awaiting_review", "complete"),
            ("awaiting_review", "revision_requested"),
            ("revision_requested", "awaiting_review"),
            ("revision_requested", "complete"),
        ];
        for from in Status::ALL {
            for to in Status::ALL {
                let listed = allowed.contains(&(from.as_str(), to.as_str()));
                assert_eq!(from.leads_to(*to), listed, "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn ap_23_ap_24_ap_27_words_are_read_as_they_are_written() {
        assert!(Status::ALL.iter().all(|status| Status::parse(status.as_str()) == Some(*status)));
        assert_eq!(Status::parse("in_progress"), None);
        assert_eq!(ReviewType::parse("Human"), None);
        assert_eq!(ActorType::parse("robot"), None);
    }
}
