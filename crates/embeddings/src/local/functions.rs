//! The element-wise functions of a model, with the vector instructions of the processor.
//! Must not know: models, matrices.

use pulp::Arch;

/// Below it, e^x is 0 as a float.
const EXPONENT_MIN: f32 = -87.0;

/// e^x for x up to 0, with an error below 2e-7. Without branches, so that it can be vectorised.
#[inline(always)]
fn exp(x: f32) -> f32 {
    const ROUNDING: f32 = 12_582_912.0; // 1.5 * 2^23: what is behind the point falls off
    let x = x.max(EXPONENT_MIN);
    let shifted = x * std::f32::consts::LOG2_E + ROUNDING;
    let whole = shifted - ROUNDING;
    // ln 2 in two parts; the product with the first one is exact.
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let mut sum = 1.987_569_2e-4;
    for part in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_66, 0.5, 1.0, 1.0] {
        sum = sum * rest + part;
    }
    // The lowest bits of `shifted` are the integer part, and the exponent of a float starts at bit 23.
    sum * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// GELU: x times the probability that a normal variable is below x, by Abramowitz and Stegun 7.1.26, with an
/// error of the
/// error function below 2e-7.
pub(super) fn gelu(numbers: &mut [f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for x in numbers {
                let scaled = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
                let t = 1.0 / (1.0 + 0.327_591_1 * scaled);
                let mut sum = 1.061_405_4;
                for part in [-1.453_152, 1.421_413_8, -0.284_496_72, 0.254_829_6] {
                    sum = sum * t + part;
                }
                let error = 1.0 - sum * t * exp(-scaled * scaled);
                *x = 0.5 * *x * (1.0 + error.copysign(*x));
            }
        },
    );
}

pub(super) fn relu(numbers: &mut [f32]) {
    for number in numbers {
        *number = number.max(0.0);
    }
}

/// Softmax of each row.
pub(super) fn softmax(numbers: &mut [f32], width: usize, scale: f32) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in numbers.chunks_exact_mut(width.max(1)) {
                let largest = lanes(row, f32::NEG_INFINITY, |number| number, f32::max);
                for number in &mut *row {
                    *number = exp((*number - largest) * scale);
                }
                let whole = 1.0 / lanes(row, 0.0, |number| number, |a, b| a + b);
                for number in row {
                    *number *= whole;
                }
            }
        },
    );
}

/// Layer normalisation: each row gets mean 0 and variance 1, then weight and bias.
pub(super) fn normalise(numbers: &mut [f32], weight: &[f32], bias: &[f32], epsilon: f32) {
    #[expect(clippy::cast_precision_loss, reason = "a state has few components")]
    let share = 1.0 / weight.len() as f32;
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in numbers.chunks_exact_mut(weight.len()) {
                let mean = share * lanes(row, 0.0, |number| number, |a, b| a + b);
                let variance =
                    share * lanes(row, 0.0, |number| (number - mean) * (number - mean), |a, b| a + b);
                let scale = 1.0 / (variance + epsilon).sqrt();
                for ((number, weight), bias) in row.iter_mut().zip(weight).zip(bias) {
                    *number = (*number - mean) * scale * weight + bias;
                }
            }
        },
    );
}

/// Maps each number with `value` and folds the results with `join`, in sixteen lanes, because the compiler may
/// not reorder
/// additions.
#[inline(always)]
fn lanes(numbers: &[f32], first: f32, value: impl Fn(f32) -> f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    let (mut all, mut chunks) = ([first; 16], numbers.chunks_exact(16));
    for chunk in &mut chunks {
        for (all, number) in all.iter_mut().zip(chunk) {
            *all = join(*all, value(*number));
        }
    }
    for (all, number) in all.iter_mut().zip(chunks.remainder()) {
        *all = join(*all, value(*number));
    }
    all.into_iter().fold(first, join)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By its series, in twice the bits.
    fn error_function(x: f64) -> f64 {
        let (mut sum, mut term) = (0.0, x);
        for nth in 0..200 {
            let n = f64::from(nth);
            sum += term / (2.0 * n + 1.0);
            term *= -x * x / (n + 1.0);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }

    fn near(found: f32, expected: f64, what: f32) {
        assert!((f64::from(found) - expected).abs() < 1e-6, "of {what}: {found}, not {expected}");
    }

    #[test]
    fn functions_are_those_of_mathematics() {
        for nth in -4_000_i16..=4_000 {
            let x = f32::from(nth) / 1_000.0;
            let mut one = [x];
            gelu(&mut one);
            near(one[0], f64::from(x) * 0.5 * (1.0 + error_function(f64::from(x) / 2.0_f64.sqrt())), x);
            let x = -x.abs() * 20.0;
            near(exp(x), f64::from(x).exp(), x);
        }
        let mut far = [-50.0, 50.0, 0.0];
        gelu(&mut far);
        assert_eq!(far, [-0.0, 50.0, 0.0]);
        assert_eq!(exp(f32::NEG_INFINITY), exp(-87.0));
    }

    #[test]
    fn shares_are_of_one_in_each_row() {
        let mut rows: Vec<f32> = (0_u8..60).map(|nth| f32::from(nth % 7) * 40.0).collect();
        softmax(&mut rows, 20, 0.5);
        for row in rows.chunks(20) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
        let mut two = [0.0, 2.0_f32.ln()];
        softmax(&mut two, 2, 1.0);
        assert!((two[0] - 1.0 / 3.0).abs() < 1e-6, "{two:?}");
    }

    #[test]
    fn a_row_gets_mean_and_variance_of_its_own() {
        let (weight, bias) = ([2.0; 18], [1.0; 18]);
        let mut rows: Vec<f32> = (0_u8..36).map(|nth| f32::from(nth) * f32::from(nth)).collect();
        normalise(&mut rows, &weight, &bias, 0.0);
        for row in rows.chunks(18) {
            let mean = row.iter().sum::<f32>() / 18.0;
            let variance = row.iter().map(|number| (number - 1.0) * (number - 1.0)).sum::<f32>() / 18.0;
            assert!((mean - 1.0).abs() < 1e-5 && (variance - 4.0).abs() < 1e-4, "{mean} {variance}");
        }
    }
}
