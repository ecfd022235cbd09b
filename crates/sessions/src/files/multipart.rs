//! Parses the body of an upload, `multipart/form-data` with one part, piece by piece. The bytes around the content
//! are bounded, so that memory never holds more than the last piece.
//! Must not know: the destination of the content.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::{Stream, stream};
use http::{HeaderMap, header};
use multer::{Field, Multipart};
use plenary_kernel::{Class, Refusal, text::check_line};

use super::{FILENAME_CHARS_MAX, UPLOAD_FRAME_BYTES_MAX, command::FileDeclaration};

/// The name of the one part.
const PART: &str = "file";
/// What a file is where its uploader does not say it.
const OPAQUE: &str = "application/octet-stream";
/// Longest media type, in bytes; one that is longer counts as none.
const MEDIA_TYPE_BYTES_MAX: usize = 127;

/// A body that can't be read, on its way through the parser.
#[derive(Debug, thiserror::Error)]
#[error("the body was refused")]
struct MultipartRefusal(Refusal);

fn malformed(reason: &str) -> Refusal {
    Refusal::malformed(
        "invalid_multipart",
        format!("{reason}; send one part, named `{PART}`, with a file name."),
    )
}

fn refusal(error: &multer::Error) -> Refusal {
    if let multer::Error::StreamReadFailed(source) = error
        && let Some(MultipartRefusal(refusal)) = source.downcast_ref::<MultipartRefusal>()
    {
        return refusal.clone();
    }
    malformed("The body is not valid multipart/form-data")
}

/// The section of the body that is being read.
#[derive(Debug, Default)]
struct BodySection {
    is_content: AtomicBool,
    /// Bytes that came since the content began or ended.
    frame_bytes: AtomicU64,
}

impl BodySection {
    fn enter(&self, is_content: bool) {
        self.is_content.store(is_content, Ordering::Relaxed);
        self.frame_bytes.store(0, Ordering::Relaxed);
    }
}

/// A body that comes one piece at a time: the parser takes whatever is ready.
struct PacedBody<S> {
    body: S,
    section: Arc<BodySection>,
    must_yield: bool,
}

impl<S: Stream<Item = Result<Bytes, Refusal>> + Unpin> Stream for PacedBody<S> {
    type Item = Result<Bytes, MultipartRefusal>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.must_yield) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(piece) = ready!(Pin::new(&mut self.body).poll_next(cx)) else { return Poll::Ready(None) };
        self.must_yield = true;
        let piece = match piece {
            Ok(piece) => piece,
            Err(refusal) => return Poll::Ready(Some(Err(MultipartRefusal(refusal)))),
        };
        let section = &self.section;
        let is_frame = !section.is_content.load(Ordering::Relaxed);
        if is_frame
            && section.frame_bytes.fetch_add(piece.len() as u64, Ordering::Relaxed) > UPLOAD_FRAME_BYTES_MAX
        {
            return Poll::Ready(Some(Err(MultipartRefusal(malformed(
                "The headers around the file are too large",
            )))));
        }
        Poll::Ready(Some(Ok(piece)))
    }
}

/// The boundary of a body's parts, from the head of its request.
pub(super) fn boundary(headers: &HeaderMap) -> Result<String, Refusal> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.and_then(|text| multer::parse_boundary(text).ok()).ok_or_else(|| {
        let text = format!("Send the file as multipart/form-data, in a part named `{PART}`.");
        Refusal::new(Class::UnsupportedMedia, "unsupported_media_type", text)
    })
}

/// What an uploader says of its file, and the content that follows. Its end is the end of the body.
pub(super) async fn read<S>(
    boundary: String,
    body: S,
) -> Result<(FileDeclaration, impl Stream<Item = Result<Bytes, Refusal>> + Send), Refusal>
where
    S: Stream<Item = Result<Bytes, Refusal>> + Send + 'static,
{
    let section = Arc::new(BodySection::default());
    let body = PacedBody { body: Box::pin(body), section: section.clone(), must_yield: false };
    let mut multipart = Multipart::new(body, boundary);
    let field = multipart.next_field().await.map_err(|error| refusal(&error))?;
    let field = field.filter(|field| field.name() == Some(PART));
    let field = field.ok_or_else(|| malformed("The body has no part named `file`"))?;
    let declaration = FileDeclaration { name: filename(&field)?, media_type: media_type(&field) };
    section.enter(true);
    let content =
        stream::try_unfold((multipart, field, section), |(multipart, mut field, section)| async move {
            if let Some(piece) = field.chunk().await.map_err(|error| refusal(&error))? {
                return Ok(Some((piece, (multipart, field, section))));
            }
            drop(field);
            section.enter(false);
            check_end(multipart).await?;
            Ok(None)
        });
    Ok((declaration, content))
}

/// Checks that no second part follows.
async fn check_end(mut multipart: Multipart<'static>) -> Result<(), Refusal> {
    match multipart.next_field().await.map_err(|error| refusal(&error))? {
        None => Ok(()),
        Some(_) => Err(malformed("The body has more than one part")),
    }
}

fn filename(field: &Field<'_>) -> Result<String, Refusal> {
    let name = field.file_name().unwrap_or_default();
    check_name(name)?;
    Ok(name.to_owned())
}

/// Refuses a name that no file has.
fn check_name(name: &str) -> Result<(), Refusal> {
    let invalid = |reason: String| Refusal::malformed("invalid_filename", format!("The file name {reason}."));
    if name.is_empty() || name.chars().count() > FILENAME_CHARS_MAX {
        return Err(invalid(format!("must have 1 to {FILENAME_CHARS_MAX} characters")));
    }
    if name.contains(['/', '\\']) || name.chars().all(|c| c == '.') {
        return Err(invalid("must be a name without a path".to_owned()));
    }
    check_line(name).map_err(invalid)
}

/// The media type without its parameters.
fn media_type(field: &Field<'_>) -> String {
    field
        .content_type()
        .map_or_else(|| OPAQUE.to_owned(), |media_type| normalize_type(media_type.essence_str()))
}

fn normalize_type(text: &str) -> String {
    if text.len() <= MEDIA_TYPE_BYTES_MAX { text.to_ascii_lowercase() } else { OPAQUE.to_owned() }
}

impl FileDeclaration {
    /// What another network says of a file, under the rules of an upload.
    pub(crate) fn of_peer(name: &str, media_type: &str) -> Result<Self, Refusal> {
        check_name(name)?;
        Ok(Self { name: name.to_owned(), media_type: normalize_type(media_type) })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, TryStreamExt};

    use super::*;

    const HEAD: &str = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"q3.pdf\"\r\n\
        Content-Type: Application/PDF; a=b\r\n\r\n";

    async fn read_in(body: &[u8], piece: usize) -> Result<(FileDeclaration, Vec<u8>), &'static str> {
        let pieces: Vec<_> = body.chunks(piece).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let upload = async {
            let (declaration, content) = read("b".to_owned(), stream::iter(pieces)).await?;
            let content: Vec<Bytes> = content.try_collect().await?;
            Ok::<_, Refusal>((declaration, content.concat()))
        };
        upload.await.map_err(|refusal| refusal.code)
    }

    #[tokio::test]
    async fn content_is_independent_of_chunk_boundaries() {
        let content: Vec<u8> =
            (0..100_000_u32).flat_map(|n| [u8::try_from(n % 251).unwrap(), b'\r']).collect();
        for content in [&b""[..], b"\r\n--", b"--b--", &content] {
            let body = [HEAD.as_bytes(), content, b"\r\n--b--\r\n"].concat();
            for piece in [1, 7, 1_000, body.len()] {
                let (declaration, content_read) = read_in(&body, piece).await.unwrap();
                assert_eq!((&*declaration.name, &*declaration.media_type), ("q3.pdf", "application/pdf"));
                assert!(content_read == content, "{} bytes in pieces of {piece}", content.len());
            }
        }
    }

    #[tokio::test]
    async fn framing_bytes_are_limited() {
        let filler = vec![b'x'; 100_000];
        let leading = [b"--b\r\nX-A: ", &*filler, b"\r\n"].concat();
        let trailing = [HEAD.as_bytes(), b"x\r\n--b--\r\n", &*filler].concat();
        let preamble = [&*filler, HEAD.as_bytes(), b"x\r\n--b--\r\n"].concat();
        for body in [leading, preamble] {
            assert_eq!(read_in(&body, 1_000).await, Err("invalid_multipart"));
        }
        let (_, content) = read_in(&trailing, 1_000).await.unwrap();
        assert_eq!(content, b"x", "what stands behind the end is not read");
    }

    #[tokio::test]
    async fn an_invalid_body_is_refused() {
        let body_with = |name: &str, file: &str| {
            format!(
                "--b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\n\r\nx\r\n--b--\r\n"
            )
        };
        let two = format!("{HEAD}x\r\n{HEAD}y\r\n--b--\r\n");
        for (body, code) in [
            (String::new(), "invalid_multipart"),
            ("--b--\r\n".to_owned(), "invalid_multipart"),
            (format!("{HEAD}x"), "invalid_multipart"),
            (two, "invalid_multipart"),
            (body_with("other", "a"), "invalid_multipart"),
            (body_with("file", ""), "invalid_filename"),
            (body_with("file", ".."), "invalid_filename"),
            (body_with("file", "../a"), "invalid_filename"),
            (body_with("file", "\u{202e}gpj.exe"), "invalid_filename"),
            (body_with("file", &"x".repeat(256)), "invalid_filename"),
        ] {
            assert_eq!(read_in(body.as_bytes(), 10_000).await, Err(code), "{body}");
        }
        assert!(read_in(body_with("file", &"x".repeat(255)).as_bytes(), 10_000).await.is_ok());
        let broken = stream::iter([Err(Refusal::malformed("invalid_framing", "x"))]).chain(stream::pending());
        let refusal = read("b".to_owned(), broken).await.map(|_| ()).unwrap_err();
        assert_eq!(refusal.code, "invalid_framing", "what the body was refused for is said");
    }
}
