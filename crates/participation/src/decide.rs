//! The decision of an agent on a message. Pure.
//! Must not know: where the message is, or how it is answered.

use plenary_sessions::event::Origin;

/// Which messages of a session an agent answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Answers {
    /// In a session of two, all messages; in a larger one, messages that name the agent and answers to its questions.
    #[default]
    Mentioned,
    /// All messages, whatever the number of participants.
    Always,
}

/// A message, from the point of view of one receiving agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IncomingMessage {
    /// The origin, if an agent of this server sent it.
    pub(crate) origin: Option<Origin>,
    /// Whether it names the agent.
    pub(crate) mentions: bool,
    /// Whether the agent waits for input, and the message is newer than its question.
    pub(crate) answers_question: bool,
}

/// The agent's situation when it receives the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AgentStanding {
    pub(crate) answers: Answers,
    /// The number of participants, including invited ones and the agent.
    pub(crate) parties: usize,
    /// Whether its owner has stopped it.
    pub(crate) stopped: bool,
    pub(crate) hops_max: u32,
    /// Whether the sender has used up its messages of the last minute.
    pub(crate) too_fast: bool,
    /// The number of messages of the session that already wait.
    pub(crate) pending: usize,
    pub(crate) pending_max: usize,
}

/// The agent's reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The message does not concern the agent.
    PassOver,
    /// The message starts a run.
    Ask,
    /// The message resumes the waiting run.
    Resume,
    /// The agent does not answer, and sends the reason.
    Refuse(SilenceReason),
}

/// Why a message is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SilenceReason {
    /// The owner has stopped the agent.
    Stopped,
    /// Too many agents have passed the message on.
    TooManyHops,
    /// The sender has sent too many messages within a minute.
    TooFast,
    /// Too many messages already wait.
    TooManyPending,
}

pub(crate) fn decide(message: IncomingMessage, standing: AgentStanding) -> Verdict {
    let IncomingMessage { origin, mentions, answers_question } = message;
    let is_for_it =
        mentions || answers_question || standing.answers == Answers::Always || standing.parties <= 2;
    if !is_for_it || origin.is_some_and(|origin| origin.notice) {
        return Verdict::PassOver;
    }
    if standing.stopped {
        return Verdict::Refuse(SilenceReason::Stopped);
    }
    if origin.is_some_and(|origin| origin.hops >= standing.hops_max) {
        return Verdict::Refuse(SilenceReason::TooManyHops);
    }
    if standing.too_fast {
        return Verdict::Refuse(SilenceReason::TooFast);
    }
    if answers_question {
        return Verdict::Resume;
    }
    if standing.pending >= standing.pending_max {
        return Verdict::Refuse(SilenceReason::TooManyPending);
    }
    Verdict::Ask
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: IncomingMessage =
        IncomingMessage { origin: None, mentions: false, answers_question: false };
    const ALONE: AgentStanding = AgentStanding {
        answers: Answers::Mentioned,
        parties: 2,
        stopped: false,
        hops_max: 3,
        too_fast: false,
        pending: 0,
        pending_max: 2,
    };
    const MANY: AgentStanding = AgentStanding { parties: 3, ..ALONE };

    fn passed(hops: u32, notice: bool) -> IncomingMessage {
        IncomingMessage { origin: Some(Origin { hops, notice }), ..MESSAGE }
    }

    #[test]
    fn given_a_session_of_two_when_any_message_is_sent_then_it_is_asked() {
        assert_eq!(decide(MESSAGE, ALONE), Verdict::Ask);
    }

    #[test]
    fn given_more_when_it_is_not_named_then_it_passes_over() {
        assert_eq!(decide(MESSAGE, MANY), Verdict::PassOver);
        assert_eq!(decide(IncomingMessage { mentions: true, ..MESSAGE }, MANY), Verdict::Ask);
        assert_eq!(decide(MESSAGE, AgentStanding { answers: Answers::Always, ..MANY }), Verdict::Ask);
    }

    #[test]
    fn given_a_question_when_any_message_is_sent_then_it_is_the_answer() {
        assert_eq!(decide(IncomingMessage { answers_question: true, ..MESSAGE }, MANY), Verdict::Resume);
        let full = AgentStanding { pending: 2, ..MANY };
        assert_eq!(decide(IncomingMessage { answers_question: true, ..MESSAGE }, full), Verdict::Resume);
    }

    #[test]
    fn given_agents_that_answer_each_other_then_it_ends_at_the_hops() {
        assert_eq!(decide(passed(2, false), ALONE), Verdict::Ask);
        assert_eq!(decide(passed(3, false), ALONE), Verdict::Refuse(SilenceReason::TooManyHops));
        let answer = IncomingMessage { answers_question: true, ..passed(3, false) };
        assert_eq!(decide(answer, ALONE), Verdict::Refuse(SilenceReason::TooManyHops));
    }

    #[test]
    fn given_a_notice_then_nobody_answers_it() {
        assert_eq!(decide(passed(0, true), ALONE), Verdict::PassOver);
        let named = IncomingMessage { mentions: true, ..passed(0, true) };
        assert_eq!(decide(named, AgentStanding { stopped: true, ..ALONE }), Verdict::PassOver);
    }

    #[test]
    fn given_a_limit_when_it_is_exceeded_then_the_reason_is_sent() {
        for (standing, why) in [
            (AgentStanding { stopped: true, too_fast: true, ..ALONE }, SilenceReason::Stopped),
            (AgentStanding { too_fast: true, pending: 2, ..ALONE }, SilenceReason::TooFast),
            (AgentStanding { pending: 2, ..ALONE }, SilenceReason::TooManyPending),
        ] {
            assert_eq!(decide(MESSAGE, standing), Verdict::Refuse(why));
        }
        assert_eq!(decide(MESSAGE, AgentStanding { pending: 1, ..ALONE }), Verdict::Ask);
    }
}
