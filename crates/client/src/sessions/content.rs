//! The content of a message: text, or parts (ASP-37, ASP-38).
//! Must not know: permissions to send it.

use plenary_kernel::FileId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A message's content, in the form in which it was sent (ASP-37).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Plain text, at least one character.
    Text(String),
    /// At least one part.
    Parts(Vec<Part>),
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Part {
    /// Text, at least one character.
    Text {
        /// The text.
        text: String,
    },
    /// An image, by reference or inline.
    Image {
        /// Its URL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The image itself, `data:…`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data_uri: Option<String>,
        /// The id of an uploaded image.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_id: Option<FileId>,
        /// Its media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The size of an uploaded image, in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    /// A file, always by reference (ASP-38, ASP-96).
    File {
        /// Its URL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The id of an uploaded file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_id: Option<FileId>,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Its media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its size in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    /// Any JSON object.
    Data {
        /// The object.
        data: Map<String, Value>,
    },
    /// A type that this client does not know.
    #[serde(untagged)]
    Unknown(Value),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asp_37_asp_38_content_is_written_and_read_in_its_form() {
        for json in [
            r#""hi""#,
            r#"[{"type":"text","text":"hi"}]"#,
            r#"[{"type":"image","url":"https://x/y.png"},{"type":"file","url":"u","name":"n","size":3}]"#,
            r#"[{"type":"file","file_id":"file_01A","name":"n"},{"type":"image","file_id":"file_01B","size":3}]"#,
            r#"[{"type":"data","data":{"a":[1,null]}}]"#,
            r#"[{"type":"sound","hz":440}]"#,
        ] {
            let content: Content = serde_json::from_str(json).unwrap();
            let again = serde_json::to_value(&content).unwrap();
            assert_eq!(again, serde_json::from_str::<Value>(json).unwrap());
        }
        assert!(serde_json::from_str::<Content>("7").is_err());
    }
}
