//! The texts of a run so far, to tell whether its result repeats them. Pure.
//! Must not know: how a text is shown.

/// Most bytes that are kept: those of the largest result twice, so that a result in several texts is found.
const KEPT_BYTES_MAX: usize = 2 << 20;

/// The texts, from the newest back.
#[derive(Debug, Default)]
pub(crate) struct SaidText(String);

impl SaidText {
    pub(crate) fn push(&mut self, text: &str) {
        self.0.push_str(text);
        if self.0.len() > KEPT_BYTES_MAX {
            self.0.drain(..self.0.floor_char_boundary(self.0.len() - KEPT_BYTES_MAX / 2));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this result says something that no text says.
    pub(crate) fn lacks(&self, result: &str) -> bool {
        !self.0.contains(result.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_compared_with_the_newest_texts() {
        let mut said = SaidText::default();
        assert!(said.is_empty() && said.lacks("x") && !said.lacks(" \n"));
        said.push("first ");
        said.push("second");
        assert!(!said.lacks("first second\n") && said.lacks("third"));
        said.push(&"é".repeat(KEPT_BYTES_MAX / 2));
        assert!(said.lacks("second") && said.0.len() <= KEPT_BYTES_MAX);
    }
}
