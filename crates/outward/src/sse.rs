//! Parses Server-Sent Events from bytes, split anywhere (WHATWG HTML, "Parsing an event stream").
//! Must not know: connections, or the content of an event.

/// The default limit of one event in bytes: several times the largest frame. Beyond it the stream is
/// abandoned.
pub const EVENT_BYTES_MAX: usize = 256 << 10;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The last id that the stream has set.
    pub id: Option<String>,
    /// The value of the `event` field; empty if absent.
    pub name: String,
    /// The `data` lines, joined by line feeds.
    pub data: String,
}

/// A part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// An event.
    Event(SseEvent),
    /// A comment, e.g. a keepalive (FO-57).
    Comment(String),
}

/// An event is larger than its parser's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {} KiB", .0 >> 10)]
pub struct TooLong(usize);

/// Parses a stream piece by piece.
#[derive(Debug)]
pub struct Parser {
    bytes_max: usize,
    line: Vec<u8>,
    /// The previous byte ended a line as a carriage return; a line feed now belongs to it.
    after_return: bool,
    has_started: bool,
    data: Option<String>,
    name: String,
    id: Option<String>,
    /// The id of the last finished block: where to resume.
    resume: Option<String>,
}

impl Default for Parser {
    fn default() -> Self {
        Self::holding(EVENT_BYTES_MAX)
    }
}

impl Parser {
    /// A parser for events of up to this many bytes.
    pub const fn holding(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            line: Vec::new(),
            after_return: false,
            has_started: false,
            data: None,
            name: String::new(),
            id: None,
            resume: None,
        }
    }

    /// The id after which the stream can be resumed; set also by blocks without data.
    pub fn last_id(&self) -> Option<&str> {
        self.resume.as_deref()
    }

    /// Parses the next bytes and adds the completed items to `items`.
    ///
    /// # Errors
    /// [`TooLong`]; the parser must not be used again.
    pub fn feed(&mut self, bytes: &[u8], items: &mut Vec<Item>) -> Result<(), TooLong> {
        for &byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    items.extend(self.take_line(&line));
                }
                _ => {
                    self.after_return = false;
                    self.line.push(byte);
                }
            }
            if self.line.len() + self.data.as_ref().map_or(0, String::len) > self.bytes_max {
                return Err(TooLong(self.bytes_max));
            }
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) -> Option<Item> {
        let line = if self.has_started { line } else { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) };
        self.has_started = true;
        let line = String::from_utf8_lossy(line);
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => return Some(Item::Comment(value.to_owned())),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.name),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Item> {
        let name = std::mem::take(&mut self.name);
        self.resume.clone_from(&self.id);
        let data = self.data.take()?;
        Some(Item::Event(SseEvent { id: self.id.clone(), name, data }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<Item> {
        let (mut parser, mut items) = (Parser::default(), Vec::new());
        for piece in pieces {
            parser.feed(piece, &mut items).unwrap();
        }
        items
    }

    fn event(id: Option<&str>, name: &str, data: &str) -> Item {
        Item::Event(SseEvent { id: id.map(str::to_owned), name: name.into(), data: data.into() })
    }

    #[test]
    fn events_comments_and_foreign_fields_are_distinguished() {
        let stream = "\u{feff}: keepalive\n\nid: 1\ndata: {\"a\":1}\n\nid:2\r\nevent: x\r\ndata:one\r\ndata:  two\r\n\
                      retry: 5\r\rdata\n\nid: no\0pe\ndata: three\n\nevent: lost\n\ndata: not ended";
        assert_eq!(
            read(&[stream.as_bytes()]),
            [
                Item::Comment("keepalive".into()),
                event(Some("1"), "", "{\"a\":1}"),
                event(Some("2"), "x", "one\n two"),
                event(Some("2"), "", ""),
                event(Some("2"), "", "three"),
            ]
        );
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let (mut parser, mut items) = (Parser::default(), Vec::new());
        let line = format!("data: {}\n", "x".repeat(1000));
        let fed = (0..1000).try_for_each(|_| parser.feed(line.as_bytes(), &mut items));
        assert_eq!((fed, items.len()), (Err(TooLong(EVENT_BYTES_MAX)), 0));
        let long = vec![b'x'; EVENT_BYTES_MAX + 1];
        assert_eq!(Parser::default().feed(&long, &mut items), Err(TooLong(EVENT_BYTES_MAX)));
        assert_eq!(Parser::holding(EVENT_BYTES_MAX + 1).feed(&long, &mut items), Ok(()));
    }

    #[test]
    fn a_resumed_reader_loses_no_unfinished_message() {
        let (mut parser, mut items) = (Parser::default(), Vec::new());
        let mut after = |text: &str| {
            parser.feed(text.as_bytes(), &mut items).unwrap();
            parser.last_id().map(str::to_owned)
        };
        assert_eq!(after("retry: 1\nid: 7\n"), None);
        assert_eq!(after("\n").as_deref(), Some("7"), "a block without data sets it too");
        assert_eq!(after("id: 8\ndata: half").as_deref(), Some("7"));
        assert_eq!(after("\n\n").as_deref(), Some("8"));
    }

    /// Lines as streams have them, and any others.
    fn lines() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            "data: ?[a-z{}\": ]{0,20}",
            "id: ?[0-9\u{0}]{0,4}",
            "event: ?[a-z]{0,4}",
            ":.{0,10}",
            Just(String::new()),
            "[^\r\n]{0,20}",
        ];
        let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
        prop::collection::vec((line, end), 0..30).prop_map(|lines| {
            lines.into_iter().map(|(line, end)| line + end).collect::<String>().into_bytes()
        })
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same(bytes in lines(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[&bytes]));
        }

        #[test]
        fn any_bytes_end_in_items(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(read(&one_by_one), read(&[&bytes]));
        }
    }
}
