//! The numbers of `model.safetensors`, by name. Half-precision floats are converted to single precision.
//! Must not know: their use.

use safetensors::{Dtype, SafeTensors, tensor::TensorView};

/// The prefix of all names, if the model was saved as part of a larger one.
const PREFIX: &str = "bert.";

/// The content of the file.
pub(super) struct Weights<'a>(SafeTensors<'a>);

impl<'a> Weights<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        SafeTensors::deserialize(bytes).map(Self).map_err(|why| why.to_string())
    }

    fn tensor(&self, name: &str) -> Option<TensorView<'_>> {
        self.0.tensor(name).or_else(|_| self.0.tensor(&format!("{PREFIX}{name}"))).ok()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.tensor(name).is_some()
    }

    /// Number of rows and columns of a matrix.
    pub(super) fn shape(&self, name: &str) -> Option<(usize, usize)> {
        match self.tensor(name)?.shape() {
            [rows, columns] => Some((*rows, *columns)),
            _ => None,
        }
    }

    pub(super) fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>, String> {
        self.numbers(name, &[length])
    }

    pub(super) fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Vec<f32>, String> {
        self.numbers(name, &[rows, columns])
    }

    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let tensor = self.tensor(name).ok_or_else(|| format!("it has no {name}"))?;
        if tensor.shape() != shape {
            return Err(format!("{name} has the shape {:?}, not {shape:?}", tensor.shape()));
        }
        let (wholes, _) = tensor.data().as_chunks::<4>();
        let (halves, _) = tensor.data().as_chunks::<2>();
        // The format is little-endian.
        let halves = halves.iter().map(|bytes| u16::from_le_bytes(*bytes));
        #[expect(clippy::wildcard_enum_match_arm, reason = "every other kind of number is refused")]
        match tensor.dtype() {
            Dtype::F32 => Ok(wholes.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()),
            Dtype::F16 => Ok(halves.map(half).collect()),
            Dtype::BF16 => Ok(halves.map(|bits| f32::from_bits(u32::from(bits) << 16)).collect()),
            other => Err(format!("{name} consists of {other:?}, not of floats")),
        }
    }
}

/// Converts an IEEE 754 number of 16 bits: its exponent and fraction, moved into 32 bits, are too small by the
/// factor 2^112.
fn half(bits: u16) -> f32 {
    const LARGER: f32 = f32::from_bits((127 + 112) << 23);
    let (sign, rest) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff) << 13);
    f32::from_bits((f32::from_bits(rest) * LARGER).to_bits() | sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_what_they_stand_for() {
        for (bits, expected) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65_504.0),
            (0x0001, 5.960_464_5e-8),
            (0, 0.0),
        ] {
            assert_eq!(half(bits), expected, "{bits:x}");
        }
    }

    fn file(kind: &str, data: &[u8]) -> Vec<u8> {
        let head =
            format!(r#"{{"bert.x":{{"dtype":"{kind}","shape":[2],"data_offsets":[0,{}]}}}}"#, data.len());
        [&(head.len() as u64).to_le_bytes()[..], head.as_bytes(), data].concat()
    }

    #[test]
    fn every_kind_of_float_is_read_and_nothing_else() {
        let whole = [1.5_f32.to_le_bytes(), (-2.0_f32).to_le_bytes()].concat();
        for (kind, data) in
            [("F32", &whole[..]), ("F16", &[0, 0x3e, 0, 0xc0]), ("BF16", &[0xc0, 0x3f, 0, 0xc0])]
        {
            let bytes = file(kind, data);
            let weights = Weights::read(&bytes).unwrap();
            assert_eq!(weights.vector("x", 2).unwrap(), [1.5, -2.0], "{kind}");
            assert!(weights.has("x") && !weights.has("y"));
        }
        let bytes = file("I16", &[0; 4]);
        let weights = Weights::read(&bytes).unwrap();
        assert!(weights.vector("x", 2).unwrap_err().contains("I16"));
        assert!(weights.vector("x", 3).unwrap_err().contains("has the shape [2], not [3]"));
        assert!(weights.vector("y", 2).unwrap_err().contains("it has no y"));
        assert!(Weights::read(b"no").is_err());
    }
}
