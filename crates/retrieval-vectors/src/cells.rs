//! The codes of a project, clustered into cells of similar codes. A cell that has become too large is split in
//! two, so
//! cells grow with the additions, deterministically. A search compares the nearest cells, or all while there
//! are few codes.
//! Pure.
//! Must not know: documents, models, files.

use std::cmp::Ordering;

use crate::{
    codes::{Code, Probe},
    tree::Tree,
};

/// Up to this number of vectors every search compares all of them.
pub const EXACT_VECTORS_MAX: usize = 100_000;
/// Most vectors of a cell.
const CELL_VECTORS_MAX: usize = 1_024;
/// With more vectors, a search compares those of the nearest cells: at least [`EXACT_VECTORS_MAX`], and at
/// least this
/// fraction (one in 12) of all.
const COMPARED_SHARE: usize = 12;
/// The number of vectors by which the memory of a cell grows.
const CELL_STEP: usize = 64;
/// Iterations that assign the codes of a split cell to its halves.
const ROUNDS: usize = 5;
/// A half with less than this fraction (one in 8) of the cell is too small; then both halves get the same
/// number.
const HALF_SHARE: usize = 8;

/// The sizes that determine how much a search compares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) exact: usize,
    pub(crate) cell: usize,
    pub(crate) share: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { exact: EXACT_VECTORS_MAX, cell: CELL_VECTORS_MAX, share: COMPARED_SHARE }
    }
}

/// The document of the project, and its part, that a code belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) document: u32,
    pub(crate) part: u16,
}

/// The position of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CodeLocation {
    cell: u32,
    slot: u32,
}

/// A code with its score in a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Compared {
    pub(crate) score: f32,
    pub(crate) owner: Owner,
}

#[derive(Debug, Default)]
struct Cell {
    codes: Vec<i8>,
    scales: Vec<f32>,
    owners: Vec<Owner>,
}

/// All cells of a project.
#[derive(Debug)]
pub(crate) struct Cells {
    sizes: Sizes,
    dimension: usize,
    cells: Vec<Cell>,
    tree: Tree,
    count: usize,
}

/// Called when a code is at a new location.
pub(crate) type Moved<'a> = &'a mut dyn FnMut(Owner, CodeLocation);

impl Cell {
    fn push(&mut self, code: &[i8], scale: f32, owner: Owner) {
        if self.scales.len() == self.scales.capacity() {
            self.codes.reserve_exact(CELL_STEP * code.len());
            self.scales.reserve_exact(CELL_STEP);
            self.owners.reserve_exact(CELL_STEP);
        }
        self.codes.extend_from_slice(code);
        self.scales.push(scale);
        self.owners.push(owner);
    }

    fn code(&self, slot: usize, dimension: usize) -> &[i8] {
        self.codes.get(slot * dimension..(slot + 1) * dimension).unwrap_or_default()
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Cells {
    pub(crate) fn new(dimension: usize, sizes: Sizes) -> Self {
        Self { sizes, dimension, cells: vec![Cell::default()], tree: Tree::new(dimension), count: 0 }
    }

    /// The number of codes.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Whether a search in which `candidates` codes may match compares all of them.
    pub(crate) fn is_exact(&self, candidates: usize) -> bool {
        candidates <= self.sizes.exact
    }

    /// Adds a code to the nearest cell. Other codes may move.
    pub(crate) fn add(&mut self, code: &Code, owner: Owner, moved: Moved<'_>) {
        self.count += 1;
        let mut homeless = vec![Homeless { parts: code.parts.clone(), scale: code.scale, owner }];
        // This ends, because each split makes smaller cells.
        while let Some(Homeless { parts, scale, owner }) = homeless.pop() {
            let (at, _) = self.tree.nearest(&Probe::of_code(&parts, scale));
            let Some(cell) = self.cells.get_mut(index(at)) else { return };
            moved(owner, CodeLocation { cell: at, slot: number(cell.scales.len()) });
            cell.push(&parts, scale, owner);
            if cell.scales.len() > self.sizes.cell {
                homeless.extend(self.divide(at, moved));
            }
        }
    }

    /// Removes a code. The last code of its cell moves to its location.
    pub(crate) fn remove(&mut self, location: CodeLocation, moved: Moved<'_>) {
        let (dimension, slot) = (self.dimension, index(location.slot));
        let Some(cell) = self.cells.get_mut(index(location.cell)) else { return };
        let Some(last) = cell.scales.len().checked_sub(1).filter(|last| slot <= *last) else { return };
        cell.codes.copy_within(last * dimension.., slot * dimension);
        cell.codes.truncate(last * dimension);
        cell.scales.swap_remove(slot);
        cell.owners.swap_remove(slot);
        self.count -= 1;
        if let Some(owner) = cell.owners.get(slot) {
            moved(*owner, location);
        }
    }

    pub(crate) fn code(&self, location: CodeLocation) -> Option<Code> {
        let cell = self.cells.get(index(location.cell))?;
        let scale = *cell.scales.get(index(location.slot))?;
        Some(Code { parts: cell.code(index(location.slot), self.dimension).to_vec(), scale })
    }

    /// Compares the codes at these places.
    pub(crate) fn compare(
        &self,
        probe: &Probe,
        locations: impl Iterator<Item = CodeLocation>,
        compared: &mut Vec<Compared>,
    ) {
        let mut score = Vec::with_capacity(1);
        for location in locations {
            let Some(cell) = self.cells.get(index(location.cell)) else { continue };
            let slot = index(location.slot);
            let (Some(scale), Some(owner)) = (cell.scales.get(slot), cell.owners.get(slot)) else { continue };
            score.clear();
            probe.score(cell.code(slot, self.dimension), &[*scale], &mut score);
            compared.extend(score.iter().map(|score| Compared { score: *score, owner: *owner }));
        }
    }

    /// The cells to search, nearest first, and their number of codes. At most `candidates` of all codes can be
    /// hits.
    pub(crate) fn near(&self, probe: &Probe, candidates: usize) -> (Vec<usize>, usize) {
        let Sizes { exact, share, .. } = self.sizes;
        if self.count <= exact || candidates == 0 {
            return ((0..self.cells.len()).collect(), self.count);
        }
        // If few codes can be hits, they may be farther away.
        self.nearest(probe, exact.max(self.count / share.max(1)).saturating_mul(self.count / candidates))
    }

    /// The nearest cells that together have at least `room` codes, and their number of codes.
    pub(crate) fn nearest(&self, probe: &Probe, room: usize) -> (Vec<usize>, usize) {
        let (mut found, mut count) = (Vec::new(), 0);
        for cell in self.tree.nearest_first(probe) {
            if count >= room {
                break;
            }
            let cell = index(cell);
            count += self.cells.get(cell).map_or(0, |cell| cell.scales.len());
            found.push(cell);
        }
        (found, count)
    }

    /// The codes of these cells with a score above 0.
    pub(crate) fn compare_cells(&self, probe: &Probe, cells: &[usize]) -> Vec<Compared> {
        let (mut compared, mut scores) = (Vec::new(), Vec::new());
        for cell in cells.iter().filter_map(|cell| self.cells.get(*cell)) {
            scores.clear();
            probe.score(&cell.codes, &cell.scales, &mut scores);
            let of_cell = scores.iter().zip(&cell.owners).filter(|(score, _)| **score > 0.0);
            compared.extend(of_cell.map(|(score, owner)| Compared { score: *score, owner: *owner }));
        }
        compared
    }

    /// Splits a cell in two. Returns its codes that are nearer to another cell.
    fn divide(&mut self, at: u32, moved: Moved<'_>) -> Vec<Homeless> {
        let Some(cell) = self.cells.get_mut(index(at)) else { return Vec::new() };
        let cell = std::mem::take(cell);
        let (sides, centres) = halves(&cell, self.dimension);
        let other = number(self.cells.len());
        self.cells.push(Cell::default());
        self.tree.divide(at, other, &centres);
        let mut homeless = Vec::new();
        for (slot, is_other) in sides.iter().enumerate() {
            let to = if *is_other { other } else { at };
            let (owner, scale, code) =
                (cell.owners[slot], cell.scales[slot], cell.code(slot, self.dimension));
            let probe = Probe::of_code(code, scale);
            let (nearest, nearness) = self.tree.nearest(&probe);
            if nearest != at && nearest != other && nearness > self.tree.nearness(&probe, to) {
                homeless.push(Homeless { parts: code.to_vec(), scale, owner });
                continue;
            }
            let into = &mut self.cells[index(to)];
            moved(owner, CodeLocation { cell: to, slot: number(into.scales.len()) });
            into.push(code, scale, owner);
        }
        homeless
    }
}

/// A code without a cell.
struct Homeless {
    parts: Vec<i8>,
    scale: f32,
    owner: Owner,
}

/// The side of each code of a cell, and the centres of both sides.
fn halves(cell: &Cell, dimension: usize) -> (Vec<bool>, [Vec<f32>; 2]) {
    let middle = centre(cell, dimension, |_| true);
    let first = farthest(cell, dimension, &Probe::of(&middle));
    let second = farthest(cell, dimension, &first);
    let mut sides = sides(cell, [&first, &second]);
    let mut centres = centres(cell, dimension, &sides);
    for _ in 1..ROUNDS {
        sides = self::sides(cell, [&Probe::of(&centres[0]), &Probe::of(&centres[1])]);
        centres = self::centres(cell, dimension, &sides);
    }
    (sides, centres)
}

/// The code that is least similar to a probe.
fn farthest(cell: &Cell, dimension: usize, from: &Probe) -> Probe {
    let mut scores = Vec::new();
    from.score(&cell.codes, &cell.scales, &mut scores);
    let least = scores.iter().enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(slot, _)| slot);
    Probe::of_code(cell.code(least, dimension), cell.scales.get(least).copied().unwrap_or_default())
}

fn sides(cell: &Cell, [one, other]: [&Probe; 2]) -> Vec<bool> {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    one.score(&cell.codes, &cell.scales, &mut ones);
    other.score(&cell.codes, &cell.scales, &mut others);
    let leaning: Vec<f32> = ones.iter().zip(&others).map(|(one, other)| other - one).collect();
    let count = leaning.iter().filter(|leaning| **leaning > 0.0).count();
    let least = leaning.len() / HALF_SHARE;
    if (least..=leaning.len() - least).contains(&count) {
        return leaning.iter().map(|leaning| *leaning > 0.0).collect();
    }
    // Too unbalanced, as with many copies of one text: divide the codes evenly.
    let mut order: Vec<usize> = (0..leaning.len()).collect();
    order.sort_by(|a, b| leaning[*a].total_cmp(&leaning[*b]));
    let mut sides = vec![false; leaning.len()];
    order[leaning.len() / 2..].iter().for_each(|slot| sides[*slot] = true);
    sides
}

fn centres(cell: &Cell, dimension: usize, sides: &[bool]) -> [Vec<f32>; 2] {
    [false, true].map(|side| centre(cell, dimension, |slot| sides[slot] == side))
}

/// The direction of the sum of the chosen codes.
fn centre(cell: &Cell, dimension: usize, takes: impl Fn(usize) -> bool) -> Vec<f32> {
    let mut sum = vec![0.0_f32; dimension];
    let codes = cell.codes.chunks_exact(dimension).zip(&cell.scales).enumerate();
    for (_, (code, scale)) in codes.filter(|(slot, _)| takes(*slot)) {
        for (sum, part) in sum.iter_mut().zip(code) {
            *sum += f32::from(*part) * scale;
        }
    }
    let length = sum.iter().map(|part| part * part).sum::<f32>().sqrt();
    if length > 0.0 {
        sum.iter_mut().for_each(|part| *part /= length);
    }
    sum
}

/// Orders by descending score, and equal scores by owner.
pub(crate) fn nearer(left: &Compared, right: &Compared) -> Ordering {
    let owner = |compared: &Compared| (compared.owner.document, compared.owner.part);
    right.score.total_cmp(&left.score).then_with(|| owner(left).cmp(&owner(right)))
}

#[cfg(test)]
impl Cells {
    /// What the codes take, and the tree of their cells.
    pub(crate) fn allocated_bytes(&self) -> usize {
        let cell_bytes = |cell: &Cell| {
            cell.codes.capacity() + 4 * cell.scales.capacity() + size_of::<Owner>() * cell.owners.capacity()
        };
        self.cells.iter().map(cell_bytes).sum::<usize>() + 2 * self.cells.len() * (self.dimension + 32)
    }
}

#[cfg(test)]
pub(crate) mod tests;
