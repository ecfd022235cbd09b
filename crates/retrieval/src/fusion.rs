//! Merges several rankings: reciprocal rank fusion, which needs no comparable scores.
//! Must not know: how a ranking was computed.

use std::collections::HashMap;

use crate::Hit;

/// A large constant reduces the advantage of the first ranks over a presence in several rankings. 60 is the
/// value of the
/// method's authors.
pub const RANK_CONSTANT: f64 = 60.0;

/// The documents of all rankings, ordered by the sum of `1 / (60 + rank)`; equal sums in order of first
/// appearance.
pub fn fuse(rankings: &[Vec<Hit>], limit: usize) -> Vec<Hit> {
    let (mut fused, mut nth) = (Vec::<Hit>::new(), HashMap::<&str, usize>::new());
    for ranking in rankings {
        let mut rank = RANK_CONSTANT;
        for hit in ranking {
            rank += 1.0;
            let at = *nth.entry(&hit.id).or_insert_with(|| {
                fused.push(Hit { id: hit.id.clone(), score: 0.0 });
                fused.len() - 1
            });
            fused[at].score += 1.0 / rank;
        }
    }
    fused.sort_by(|a, b| b.score.total_cmp(&a.score));
    fused.truncate(limit);
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(ids: &[&str]) -> Vec<Hit> {
        ids.iter().map(|id| Hit { id: (*id).to_owned(), score: 9.0 }).collect()
    }

    #[test]
    fn what_both_rankings_have_comes_before_what_one_has() {
        let fused = fuse(&[ranking(&["a", "b", "c"]), ranking(&["d", "c", "b"])], 9);
        let seen: Vec<_> = fused.iter().map(|hit| hit.id.as_str()).collect();
        assert_eq!(seen, ["b", "c", "a", "d"]);
        assert!((fused[2].score - 1.0 / 61.0).abs() < 1e-12);
        assert_eq!(fuse(&[ranking(&["a"]), ranking(&["b"])], 1)[0].id, "a");
        assert!(fuse(&[], 9).is_empty());
    }
}
