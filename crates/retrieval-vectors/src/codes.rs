//! Vectors quantised to one byte per component, and their similarity to a query.
//! Must not know: the documents.

use pulp::Arch;

/// Most components of a vector; more could overflow a sum.
pub(crate) const DIMENSION_MAX: usize = 8_192;
/// The largest component of a code.
const CODE_MAX: f32 = 127.0;
/// The largest component of a probe; `PROBE_MAX * CODE_MAX * DIMENSION_MAX` is below 2^31.
const PROBE_MAX: f32 = 2_047.0;

/// A quantised vector. Its products differ from those of the original vector by a few parts in ten thousand.
#[derive(Debug, Clone, PartialEq)]
pub struct Code {
    /// Its components, between -127 and 127.
    pub parts: Vec<i8>,
    /// The factor of each component.
    pub scale: f32,
}

impl Code {
    pub(crate) fn of(vector: &[f32]) -> Self {
        let scale = largest(vector) / CODE_MAX;
        #[expect(clippy::cast_possible_truncation, reason = "rounded, and within -127 and 127")]
        let parts = vector.iter().map(|part| (part / scale).round() as i8).collect();
        Self { parts, scale }
    }
}

/// A query vector for comparison with codes, quantised more finely.
#[derive(Debug)]
pub(crate) struct Probe {
    parts: Vec<i16>,
    scale: f32,
}

impl Probe {
    pub(crate) fn of(vector: &[f32]) -> Self {
        let scale = largest(vector) / PROBE_MAX;
        #[expect(clippy::cast_possible_truncation, reason = "rounded, and within -2047 and 2047")]
        let parts = vector.iter().map(|part| (part / scale).round() as i16).collect();
        Self { parts, scale }
    }

    /// A probe made of a code, to compare it with others.
    pub(crate) fn of_code(parts: &[i8], scale: f32) -> Self {
        Self { parts: parts.iter().copied().map(i16::from).collect(), scale }
    }

    /// Appends the product with each code to `scores`. `codes` are concatenated, one for each scale.
    pub(crate) fn score(&self, codes: &[i8], scales: &[f32], scores: &mut Vec<f32>) {
        scores.reserve(scales.len());
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (code, scale) in codes.chunks_exact(self.parts.len().max(1)).zip(scales) {
                    let sum: i32 =
                        self.parts.iter().zip(code).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
                    #[expect(clippy::cast_precision_loss, reason = "seven digits of a score are enough")]
                    scores.push(sum as f32 * (scale * self.scale));
                }
            },
        );
    }
}

/// The largest absolute component; never 0, because it is a divisor.
fn largest(vector: &[f32]) -> f32 {
    vector.iter().fold(f32::MIN_POSITIVE, |largest, part| largest.max(part.abs()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn score(query: &[f32], vector: &[f32]) -> f32 {
        let (code, mut scores) = (Code::of(vector), Vec::new());
        Probe::of(query).score(&code.parts, &[code.scale], &mut scores);
        scores[0]
    }

    fn unit(seed: &[f32]) -> Vec<f32> {
        let mut vector = seed.to_vec();
        plenary_embeddings::normalise(&mut vector);
        vector
    }

    proptest! {
        #[test]
        fn a_score_is_the_product_of_the_vectors(
            query in prop::collection::vec(-1.0f32..1.0, 384),
            vector in prop::collection::vec(-1.0f32..1.0, 384),
        ) {
            let (query, vector) = (unit(&query), unit(&vector));
            let exact: f32 = query.iter().zip(&vector).map(|(a, b)| a * b).sum();
            prop_assert!((score(&query, &vector) - exact).abs() < 2e-3);
        }
    }

    #[test]
    fn the_longest_vectors_do_not_overflow() {
        let vector = vec![1.0; DIMENSION_MAX];
        let expected = 8_192.0;
        assert!((score(&vector, &vector) - expected).abs() < 1.0);
        assert!((score(&vector, &vec![-1.0; DIMENSION_MAX]) + expected).abs() < 1.0);
        assert_eq!(score(&vector, &vec![0.0; DIMENSION_MAX]), 0.0);
    }
}
