//! A file as clients upload it: `multipart/form-data` with the one field `file`.
//! Must not know: what the server does with it.

use crate::{Caller, Response};

/// What the parts of a body are told apart by.
pub const BOUNDARY: &str = "----blackbox7MA4YWxkTrZu0gW";
/// The type of such a body.
pub const MULTIPART: (&str, &str) =
    ("Content-Type", "multipart/form-data; boundary=----blackbox7MA4YWxkTrZu0gW");

/// A body with one file.
pub fn multipart(name: &str, kind: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         Content-Type: {kind}\r\n\r\n"
    );
    [head.as_bytes(), content, format!("\r\n--{BOUNDARY}--\r\n").as_bytes()].concat()
}

impl Caller {
    /// Uploads a file, with further headers.
    pub async fn upload(
        &self,
        (name, kind): (&str, &str),
        content: &[u8],
        extra: &[(&str, &str)],
    ) -> Response {
        let headers = [&[MULTIPART], extra].concat();
        self.bytes(&self.request("POST", "/files", &headers, Some(&multipart(name, kind, content)))).await
    }

    /// Uploads a file that must be taken; its id.
    pub async fn upload_file(&self, name: &str, content: &[u8]) -> String {
        let made = self.upload((name, "text/plain"), content, &[]).await.ok(201);
        made["id"].as_str().expect("an id").to_owned()
    }
}
