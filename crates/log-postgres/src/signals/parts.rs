//! The form of a signal in transit: text, split into parts that each fit into one notification, and joined again.
//! Must not know: PostgreSQL, except the maximum length of a notification.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use plenary_log::signals::{OutgoingSignal, ProcessId, Publication};

/// Most bytes of one notification; PostgreSQL accepts fewer than 8,000.
const PART_BYTES_MAX: usize = 7_900;
/// The space for the fields before the numbers: four integers with their spaces.
const HEAD_BYTES_MAX: usize = 4 * 21;
/// The space for one number and its separator.
const NUMBER_BYTES_MAX: usize = 20;
/// Most numbers in one part.
const NUMBERS_PER_PART_MAX: usize = 256;
/// Most parts of one message; longer ones are not joined. Answers have the most parts.
const PARTS_MAX: usize = 512;
/// The topic of answers; no other topic has this name.
const ANSWER: &str = "!";

/// A message from one process to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// For the subscribers of a topic.
    Signal { topic: String, numbers: Vec<(Arc<str>, u64)>, question: Option<u64>, body: Bytes },
    /// For the process that asked.
    Answer { question: u64, answer: Option<Bytes> },
}

/// One notification: the head, the numbers of these counters, which only the store knows, and the tail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) head: String,
    pub(crate) counters: Range<usize>,
    pub(crate) tail: String,
}

pub(crate) fn signal(from: ProcessId, serial: u64, outgoing: &OutgoingSignal) -> Vec<Part> {
    let OutgoingSignal { publication: Publication { topic, counters, body, .. }, question } = outgoing;
    let question = question.map_or_else(|| "-".to_owned(), |question| question.to_string());
    let mut text = format!("{topic} {question}");
    for counter in counters {
        text.push(' ');
        text.push_str(counter);
    }
    text.push('\n');
    write_body(&mut text, Some(body));
    cut(from, serial, counters.len(), &text)
}

pub(crate) fn answer(from: ProcessId, serial: u64, question: u64, answer: Option<&Bytes>) -> Vec<Part> {
    let mut text = format!("{ANSWER} {question}\n");
    write_body(&mut text, answer);
    cut(from, serial, 0, &text)
}

/// Writes the body unchanged if a notification can contain it; otherwise in hexadecimal.
fn write_body(text: &mut String, body: Option<&Bytes>) {
    match body.map(|body| (body, std::str::from_utf8(body))) {
        None => text.push('n'),
        Some((_, Ok(plain))) if !plain.contains('\0') => {
            text.push('u');
            text.push_str(plain);
        }
        Some((body, _)) => {
            text.push('x');
            text.push_str(&hex::encode(body));
        }
    }
}

fn read_body(text: &str) -> Option<Option<Bytes>> {
    match text.split_at_checked(1)? {
        ("n", "") => Some(None),
        ("u", plain) => Some(Some(Bytes::copy_from_slice(plain.as_bytes()))),
        ("x", digits) => Some(Some(hex::decode(digits).ok()?.into())),
        _ => None,
    }
}

fn cut(ProcessId(from): ProcessId, serial: u64, counters: usize, mut text: &str) -> Vec<Part> {
    let mut parts = Vec::with_capacity(1);
    let mut counted = 0;
    loop {
        let numbers = counted..counters.min(counted + NUMBERS_PER_PART_MAX);
        let room = PART_BYTES_MAX - HEAD_BYTES_MAX - numbers.len() * NUMBER_BYTES_MAX - 1;
        let (slice, rest) = text.split_at(text.floor_char_boundary(room));
        counted = numbers.end;
        parts.push(Part { head: String::new(), counters: numbers, tail: format!(" {slice}") });
        text = rest;
        if text.is_empty() && counted == counters {
            break;
        }
    }
    let count = parts.len();
    for (nth, part) in parts.iter_mut().enumerate() {
        part.head = format!("{from} {serial} {nth} {count} ");
    }
    parts
}

/// Joins incoming parts. The parts of a message arrive one after another, because one transaction sends
/// them.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    from: u64,
    serial: u64,
    count: usize,
    next: usize,
    numbers: Vec<u64>,
    text: String,
}

impl Joiner {
    /// Takes a notification; returns the message if this was its last part. Unreadable notifications are
    /// ignored.
    pub(crate) fn take(&mut self, notification: &str) -> Option<(ProcessId, Message)> {
        let mut pieces = notification.splitn(6, ' ');
        let from = pieces.next()?.parse().ok()?;
        let serial = pieces.next()?.parse().ok()?;
        let nth: usize = pieces.next()?.parse().ok()?;
        let count: usize = pieces.next()?.parse().ok()?;
        let (numbers, slice) = (pieces.next()?, pieces.next()?);
        if nth == 0 {
            *self = Self { from, serial, count, ..Self::default() };
        }
        if (from, serial, nth, count) != (self.from, self.serial, self.next, self.count) || count > PARTS_MAX
        {
            return None;
        }
        self.next += 1;
        for number in numbers.split(',').filter(|number| !number.is_empty()) {
            self.numbers.push(number.parse().ok()?);
        }
        self.text.push_str(slice);
        if self.next < self.count {
            return None;
        }
        let Self { text, numbers, .. } = std::mem::take(self);
        Some((ProcessId(from), read(&text, numbers)?))
    }
}

fn read(text: &str, numbers: Vec<u64>) -> Option<Message> {
    let (head, body) = text.split_once('\n')?;
    let body = read_body(body)?;
    let mut fields = head.split(' ');
    let (topic, question) = (fields.next()?, fields.next()?);
    if topic == ANSWER {
        return Some(Message::Answer { question: question.parse().ok()?, answer: body });
    }
    let question = if question == "-" { None } else { Some(question.parse().ok()?) };
    let counters: Vec<Arc<str>> = fields.map(Arc::from).collect();
    if counters.len() != numbers.len() {
        return None;
    }
    let numbers = counters.into_iter().zip(numbers).collect();
    Some(Message::Signal { topic: topic.to_owned(), numbers, question, body: body? })
}

#[cfg(test)]
mod tests {
    use plenary_kernel::TimestampMs;
    use plenary_log::signals::{
        COUNTER_BYTES_MAX, SIGNAL_ANSWER_BYTES_MAX, SIGNAL_BYTES_MAX, SIGNAL_COUNTERS_MAX,
    };

    use super::*;

    fn outgoing(counters: &[Arc<str>], body: &[u8]) -> OutgoingSignal {
        let (counters, body) = (counters.to_vec(), Bytes::copy_from_slice(body));
        let publication = Publication { topic: "test", counters, at: TimestampMs(1), body };
        OutgoingSignal { publication, question: Some(u64::MAX) }
    }

    /// The parts after the store has inserted the numbers, which begin at `first`.
    fn notifications(parts: &[Part], first: u64) -> Vec<String> {
        let payload = |part: &Part| {
            let numbers: Vec<_> = part.counters.clone().map(|nth| (first + nth as u64).to_string()).collect();
            format!("{}{}{}", part.head, numbers.join(","), part.tail)
        };
        parts.iter().map(payload).collect()
    }

    fn joined(notifications: &[String]) -> Option<Message> {
        let mut joiner = Joiner::default();
        let (last, before) = notifications.split_last().unwrap();
        for notification in before {
            assert_eq!(joiner.take(notification), None);
        }
        joiner.take(last).map(|(from, message)| {
            assert_eq!(from, ProcessId(u64::MAX));
            message
        })
    }

    #[test]
    fn a_signal_comes_back_whatever_its_bytes() {
        let long = "é€😀".repeat(SIGNAL_BYTES_MAX / 9);
        let mut raw = vec![0xff; SIGNAL_BYTES_MAX];
        raw[0] = 0;
        for body in [&b""[..], b"{}", b"a\0b", b" \n \n", long.as_bytes(), &raw] {
            for counters in [0, 1, 2, 256, 257, SIGNAL_COUNTERS_MAX] {
                let name = |n: usize| format!("{n:0>COUNTER_BYTES_MAX$}");
                let counters: Vec<Arc<str>> = (0..counters).map(|n| name(n).into()).collect();
                let parts = signal(ProcessId(u64::MAX), u64::MAX, &outgoing(&counters, body));
                let first = u64::MAX / 2;
                let notifications = notifications(&parts, first);
                assert!(notifications.iter().all(|text| text.len() < 8_000 && !text.contains('\0')));
                let numbers = counters.into_iter().zip(first..).collect();
                let body = Bytes::copy_from_slice(body);
                let signal =
                    Message::Signal { topic: "test".into(), numbers, question: Some(u64::MAX), body };
                assert_eq!(joined(&notifications), Some(signal));
            }
        }
    }

    #[test]
    fn an_answer_comes_back_up_to_its_limit() {
        for given in [None, Some(Bytes::new()), Some(Bytes::from(vec![0xff; SIGNAL_ANSWER_BYTES_MAX]))] {
            let parts = answer(ProcessId(u64::MAX), 3, 9, given.as_ref());
            assert!(parts.len() <= PARTS_MAX);
            let expected = Some(Message::Answer { question: 9, answer: given });
            assert_eq!(joined(&notifications(&parts, 0)), expected);
        }
    }

    #[test]
    fn a_message_that_lost_a_part_is_nothing_and_harms_no_other() {
        let body = vec![b'x'; SIGNAL_BYTES_MAX];
        let whole = notifications(&signal(ProcessId(1), 1, &outgoing(&[], &body)), 0);
        let small = notifications(&signal(ProcessId(1), 2, &outgoing(&[], b"small")), 0);
        for missing in 0..whole.len() {
            let mut joiner = Joiner::default();
            for (nth, notification) in whole.iter().enumerate() {
                if nth != missing {
                    assert_eq!(joiner.take(notification), None, "{missing} is missing");
                }
            }
            assert!(matches!(joiner.take(&small[0]), Some((ProcessId(1), Message::Signal { .. }))));
        }
        for nonsense in ["", "a", "1 2 3", "1 2 0 1 9 test -\nubody", "1 2 0 1  test - \nq", "1 2 0 1  test"]
        {
            assert!(Joiner::default().take(nonsense).is_none(), "{nonsense:?}");
        }
    }
}
