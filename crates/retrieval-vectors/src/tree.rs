//! The centres of cells, as a tree: a cell that was split is the parent of two. An addition descends the tree;
//! a search
//! compares all centres. Pure.
//! Must not know: the codes in the cells.

use crate::codes::{Code, Probe};

/// Width of the beam that descends the tree.
const WAYS: usize = 6;

#[derive(Debug)]
struct Node {
    /// The first of two adjacent children; `None` for a cell.
    children: Option<usize>,
    cell: u32,
}

/// The tree of the cells.
#[derive(Debug)]
pub(crate) struct Tree {
    dimension: usize,
    nodes: Vec<Node>,
    /// The centre of each node.
    codes: Vec<i8>,
    scales: Vec<f32>,
    /// The node of each cell.
    of_cells: Vec<usize>,
}

impl Tree {
    /// A tree of one cell.
    pub(crate) fn new(dimension: usize) -> Self {
        Self {
            dimension,
            nodes: vec![Node { children: None, cell: 0 }],
            codes: vec![0; dimension],
            scales: vec![0.0],
            of_cells: vec![0],
        }
    }

    /// Splits a cell into itself and `other`, which has the next number.
    pub(crate) fn divide(&mut self, cell: u32, other: u32, centres: &[Vec<f32>; 2]) {
        let at = usize::try_from(cell).ok().and_then(|cell| self.of_cells.get_mut(cell));
        let Some(at) = at else { return };
        let children = self.nodes.len();
        self.nodes[*at].children = Some(children);
        *at = children;
        self.of_cells.push(children + 1);
        for (cell, centre) in [cell, other].into_iter().zip(centres) {
            let code = Code::of(centre);
            self.codes.extend(code.parts);
            self.scales.push(code.scale);
            self.nodes.push(Node { children: None, cell });
        }
    }

    /// The nearest cell that a beam search finds for a code, and the similarity of its centre.
    pub(crate) fn nearest(&self, probe: &Probe) -> (u32, f32) {
        let (mut ways, mut found) = (vec![0], Vec::<(f32, u32)>::new());
        let (mut scores, mut next) = (Vec::new(), Vec::<(f32, usize)>::new());
        while !ways.is_empty() {
            next.clear();
            for way in &ways {
                let Some(first) = self.nodes[*way].children else { continue };
                scores.clear();
                let codes = &self.codes[first * self.dimension..(first + 2) * self.dimension];
                probe.score(codes, &self.scales[first..first + 2], &mut scores);
                next.extend(scores.iter().zip(first..).map(|(score, node)| (*score, node)));
            }
            next.sort_by(|(a, _), (b, _)| b.total_cmp(a));
            next.truncate(WAYS);
            let ends = next.iter().filter(|(_, node)| self.nodes[*node].children.is_none());
            found.extend(ends.map(|(score, node)| (*score, self.nodes[*node].cell)));
            ways.clear();
            ways.extend(next.iter().map(|(_, node)| *node));
        }
        let best = found.iter().max_by(|(a, cell), (b, other)| a.total_cmp(b).then(other.cmp(cell)));
        best.map_or((0, 0.0), |(score, cell)| (*cell, *score))
    }

    /// The similarity of a cell's centre.
    pub(crate) fn nearness(&self, probe: &Probe, cell: u32) -> f32 {
        let mut scores = Vec::with_capacity(1);
        if let Some(at) = usize::try_from(cell).ok().and_then(|cell| self.of_cells.get(cell)) {
            let codes = &self.codes[at * self.dimension..(at + 1) * self.dimension];
            probe.score(codes, &self.scales[*at..=*at], &mut scores);
        }
        scores.first().copied().unwrap_or_default()
    }

    /// All cells, the most similar centre first.
    pub(crate) fn nearest_first(&self, probe: &Probe) -> impl Iterator<Item = u32> {
        let mut scores = Vec::new();
        probe.score(&self.codes, &self.scales, &mut scores);
        let ends = self.nodes.iter().zip(scores).filter(|(node, _)| node.children.is_none());
        let mut cells: Vec<(f32, u32)> = ends.map(|(node, score)| (score, node.cell)).collect();
        cells.sort_unstable_by(|(a, cell), (b, other)| b.total_cmp(a).then(cell.cmp(other)));
        cells.into_iter().map(|(_, cell)| cell)
    }
}
