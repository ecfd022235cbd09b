//! English stop words.
//! Must not know: other languages, which have no stop words here.

/// Sorted by bytes, for the binary search.
const STOP: [&str; 121] = [
    "a", "about", "above", "after", "again", "against", "all", "am", "an", "and", "any", "are", "as", "at",
    "be", "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "could",
    "did", "do", "does", "doing", "down", "during", "each", "few", "for", "from", "further", "had", "has",
    "have", "having", "he", "her", "here", "hers", "herself", "him", "himself", "his", "how", "i", "if",
    "in", "into", "is", "it", "its", "itself", "just", "me", "more", "most", "my", "myself", "no", "nor",
    "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "out", "over", "own",
    "same", "she", "should", "so", "some", "such", "than", "that", "the", "their", "theirs", "them", "then",
    "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "very", "was",
    "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "would",
    "you", "your",
];

/// Length of the longest stop word, in bytes.
const BYTES_MAX: usize = 8;

/// Whether a word in lower case is a stop word.
pub(super) fn is_stop_word(word: &str) -> bool {
    word.len() <= BYTES_MAX && STOP.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_byte_order() {
        assert!(STOP.is_sorted());
        assert!(STOP.iter().all(|word| word.len() <= BYTES_MAX && is_stop_word(word)));
        assert!(!is_stop_word("login"));
    }
}
