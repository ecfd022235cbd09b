//! What an index keeps of a document. All words stand in one field, each as often as it weighs, so that one statistic
//! ranks them. Each word stands with its project before it: what is rare is rare within the project, a search costs
//! what its project has, and no score says what other projects hold.
//! Must not know: how it is searched.

use plenary_kernel::json::digest;
use plenary_retrieval::{Document, Lexemes};
use tantivy::{
    TantivyDocument, Term,
    schema::{
        FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
    },
};

/// Longest project name that stands before words as it is; a longer one stands there as its digest.
const PREFIX_OCTETS_MAX: usize = 32;

/// The fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    pub(crate) id: Field,
    pub(crate) project: Field,
    pub(crate) created_at_ms: Field,
    pub(crate) is_draft: Field,
    pub(crate) words: Field,
}

impl Fields {
    pub(crate) fn schema() -> (Schema, Self) {
        let mut schema = Schema::builder();
        let counted = TextFieldIndexing::default()
            .set_tokenizer("whitespace")
            .set_index_option(IndexRecordOption::WithFreqs);
        let fields = Self {
            id: schema.add_text_field("id", STRING | STORED),
            project: schema.add_text_field("project", STRING),
            created_at_ms: schema.add_i64_field("created_at_ms", FAST | INDEXED),
            is_draft: schema.add_bool_field("is_draft", INDEXED),
            words: schema.add_text_field("words", TextOptions::default().set_indexing_options(counted)),
        };
        (schema.build(), fields)
    }

    pub(crate) fn document(self, document: &Document) -> TantivyDocument {
        let prefix = prefix(&document.project);
        let mut words = String::new();
        for word in Lexemes::of(document).words {
            for _ in 0..word.weighted() {
                words.extend([&prefix, "/", &word.text, " "]);
            }
        }
        let mut kept = TantivyDocument::new();
        kept.add_text(self.id, &document.id);
        kept.add_text(self.project, &prefix);
        kept.add_i64(self.created_at_ms, document.created_at_ms);
        kept.add_bool(self.is_draft, document.is_draft);
        kept.add_text(self.words, words);
        kept
    }

    /// A word of a project.
    pub(crate) fn word(self, prefix: &str, word: &str) -> Term {
        Term::from_field_text(self.words, &[prefix, "/", word].concat())
    }
}

/// A project as it stands before its words; two projects never stand there alike.
pub(crate) fn prefix(project: &str) -> String {
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'_' | b'-' | b'.' | b'%');
    if project.len() <= PREFIX_OCTETS_MAX && project.bytes().all(is_plain) {
        return project.to_owned();
    }
    format!("~{}", hex::encode(&digest(project.as_bytes())[..16]))
}
