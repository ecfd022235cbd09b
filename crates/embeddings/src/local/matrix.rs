//! Matrix products. One factor is packed beforehand in the order of access, so that a model's weights are laid out
//! once; the vector instructions are chosen at run time.
//! Must not know: models.

use pulp::{Arch, Simd, WithSimd};

/// Columns per panel: two vectors of the widest instructions.
const PANEL: usize = 32;

/// Rows of a matrix that start every `stride` numbers.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) numbers: &'a [f32],
    pub(super) stride: usize,
    pub(super) count: usize,
}

/// The right factor of a product, and the bias that is added to each row.
#[derive(Default)]
pub(super) struct PackedFactor {
    depth: usize,
    width: usize,
    /// The panels, concatenated; a panel has one line of [`PANEL`] columns for each row. Missing columns are 0.
    panels: Vec<f32>,
    bias: Vec<f32>,
}

impl PackedFactor {
    /// A linear layer: a row of `weights` for each output, and its bias.
    pub(super) fn layer(weights: &[f32], bias: &[f32]) -> Self {
        let mut packed = Self::default();
        let depth = weights.len() / bias.len().max(1);
        packed.transposed(Rows { numbers: weights, stride: depth, count: bias.len() }, depth);
        packed.bias[..bias.len()].copy_from_slice(bias);
        packed
    }

    /// Packs the transpose of these rows, using the first `depth` numbers of each.
    pub(super) fn transposed(&mut self, rows: Rows<'_>, depth: usize) {
        self.clear(depth, rows.count);
        for (nth, row) in rows.numbers.chunks(rows.stride.max(1)).take(rows.count).enumerate() {
            let (panel, column) = (nth / PANEL * depth * PANEL, nth % PANEL);
            for (line, number) in row[..depth].iter().enumerate() {
                self.panels[panel + line * PANEL + column] = *number;
            }
        }
    }

    /// Packs these rows, using the first `width` numbers of each.
    pub(super) fn rows(&mut self, rows: Rows<'_>, width: usize) {
        self.clear(rows.count, width);
        for (line, row) in rows.numbers.chunks(rows.stride.max(1)).take(rows.count).enumerate() {
            for (nth, part) in row[..width].chunks(PANEL).enumerate() {
                let at = (nth * rows.count + line) * PANEL;
                self.panels[at..at + part.len()].copy_from_slice(part);
            }
        }
    }

    fn clear(&mut self, depth: usize, width: usize) {
        (self.depth, self.width) = (depth, width);
        let panels = width.div_ceil(PANEL);
        self.panels.clear();
        self.panels.resize(panels * depth * PANEL, 0.0);
        self.bias.clear();
        self.bias.resize(panels * PANEL, 0.0);
    }

    /// Number of columns of a product.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Multiplies `left` by this factor, into rows of `out` that start every `stride` numbers. A row of the
    /// product depends only
    /// on its own row of `left`, to the last bit.
    pub(super) fn multiply(&self, left: Rows<'_>, out: &mut [f32], stride: usize) {
        Arch::new().dispatch(Product { left, right: self, out, stride });
    }
}

struct Product<'a> {
    left: Rows<'a>,
    right: &'a PackedFactor,
    out: &'a mut [f32],
    stride: usize,
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { left, right, out, stride } = self;
        // As many sums as fit into the registers beside the operands.
        let rows_max = if S::REGISTER_COUNT >= 32 { 12 } else { 6 };
        let blocks = left.count.div_ceil(rows_max).max(1);
        let rows = left.count.div_ceil(blocks).max(1);
        let panels = right.panels.chunks_exact((right.depth * PANEL).max(1));
        for (nth, (panel, bias)) in panels.zip(right.bias.chunks_exact(PANEL)).enumerate() {
            let width = PANEL.min(right.width - nth * PANEL);
            for first in (0..left.count).step_by(rows) {
                let left = Rows {
                    numbers: &left.numbers[first * left.stride..],
                    count: rows.min(left.count - first),
                    ..left
                };
                let out = &mut out[first * stride + nth * PANEL..];
                block(simd, left, (panel, bias, right.depth), (out, stride, width));
            }
        }
    }
}

/// The destination of a block: its numbers, the stride of its rows, and the number of columns of the panel.
type Target<'a> = (&'a mut [f32], usize, usize);

#[inline(always)]
fn block<S: Simd>(simd: S, left: Rows<'_>, (panel, bias, depth): (&[f32], &[f32], usize), into: Target<'_>) {
    macro_rules! tiles {
        ($($rows:literal),*) => {
            match left.count {
                $($rows => simd.vectorize(Tile::<$rows> { left, panel, bias, depth, into }),)*
                _ => unreachable!("a block has at most 12 rows"),
            }
        };
    }
    tiles!(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
}

/// A few rows times one panel, with every sum in a register.
struct Tile<'a, const ROWS: usize> {
    left: Rows<'a>,
    panel: &'a [f32],
    bias: &'a [f32],
    depth: usize,
    into: Target<'a>,
}

impl<const ROWS: usize> WithSimd for Tile<'_, ROWS> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (out, stride, width) = self.into;
        let rows: [&[f32]; ROWS] =
            std::array::from_fn(|nth| &self.left.numbers[nth * self.left.stride..][..self.depth]);
        let (panel, _) = S::as_simd_f32s(self.panel);
        let (bias, _) = S::as_simd_f32s(self.bias);
        let step = 2 * S::F32_LANES;
        for (nth, begin) in (0..width).step_by(step).enumerate() {
            let mut sums = [[bias[2 * nth], bias[2 * nth + 1]]; ROWS];
            for (at, line) in panel.chunks_exact(PANEL / S::F32_LANES).enumerate().take(self.depth) {
                let (one, other) = (line[2 * nth], line[2 * nth + 1]);
                for (sums, row) in sums.iter_mut().zip(&rows) {
                    let factor = simd.splat_f32s(row[at]);
                    sums[0] = simd.mul_add_e_f32s(factor, one, sums[0]);
                    sums[1] = simd.mul_add_e_f32s(factor, other, sums[1]);
                }
            }
            for (nth, sums) in sums.iter().enumerate() {
                let out = &mut out[nth * stride + begin..][..step.min(width - begin)];
                if out.len() == step {
                    S::as_mut_simd_f32s(out).0.copy_from_slice(sums);
                } else {
                    let sums: &[f32] = pulp::bytemuck::cast_slice(sums);
                    out.copy_from_slice(&sums[..out.len()]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are no pattern, between -1 and 1.
    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from(u16::try_from(state >> 16).unwrap_or_default()) / 32_768.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn multiplied(left: Rows<'_>, right: &PackedFactor) -> Vec<f32> {
        let mut out = vec![9.0; left.count * right.width()];
        right.multiply(left, &mut out, right.width());
        out
    }

    #[test]
    fn a_product_is_the_sum_of_the_products_whatever_the_sizes() {
        for (count, depth, width) in
            [(1, 1, 1), (3, 5, 33), (12, 32, 64), (13, 7, 31), (25, 40, 100), (7, 64, 96)]
        {
            let (left, weights) = (numbers(count * depth, 1), numbers(width * depth, 2));
            let bias = numbers(width, 3);
            let left = Rows { numbers: &left, stride: depth, count };
            let found = multiplied(left, &PackedFactor::layer(&weights, &bias));
            for (at, found) in found.iter().enumerate() {
                let (row, column) = (at / width, at % width);
                let products =
                    (0..depth).map(|k| left.numbers[row * depth + k] * weights[column * depth + k]);
                let expected = bias[column] + products.sum::<f32>();
                assert!(
                    (found - expected).abs() < 1e-4,
                    "{count}x{depth}x{width} at {at}: {found} is not {expected}"
                );
            }
        }
    }

    #[test]
    fn rows_and_their_transposed_are_packed_alike() {
        let (rows, columns, stride) = (37, 41, 50);
        let right = numbers(rows * stride, 4);
        let mut turned = vec![0.0; columns * rows];
        for (at, number) in turned.iter_mut().enumerate() {
            *number = right[at % rows * stride + at / rows];
        }
        let (mut plain, mut transposed) = (PackedFactor::default(), PackedFactor::default());
        plain.rows(Rows { numbers: &right, stride, count: rows }, columns);
        transposed.transposed(Rows { numbers: &turned, stride: rows, count: columns }, rows);
        let left = numbers(9 * rows, 5);
        let left = Rows { numbers: &left, stride: rows, count: 9 };
        assert_eq!(multiplied(left, &plain), multiplied(left, &transposed));
    }

    #[test]
    fn a_row_does_not_depend_on_the_rows_beside_it() {
        let (depth, width) = (50, 70);
        let left = numbers(40 * depth, 6);
        let right = PackedFactor::layer(&numbers(width * depth, 7), &numbers(width, 8));
        let all = multiplied(Rows { numbers: &left, stride: depth, count: 40 }, &right);
        for nth in 0..40 {
            let one = multiplied(Rows { numbers: &left[nth * depth..], stride: depth, count: 1 }, &right);
            assert_eq!(one, all[nth * width..][..width]);
        }
    }
}
