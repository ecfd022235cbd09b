//! The platform of a Linux program, from its ELF headers: its processor and its C library.
//! Must not know: any kind of package. Pure.

use anyhow::{Context, Result, bail};
use object::{
    Endianness,
    elf::{EM_AARCH64, EM_X86_64, FileHeader64, PT_INTERP},
    read::elf::{FileHeader as _, ProgramHeader as _},
};

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cpu {
    X86,
    Arm,
}

/// The required C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Libc {
    /// The GNU C library 2.N or newer.
    Gnu(u32),
    /// None: the program is static.
    None,
}

/// The platform, from which package names derive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Platform {
    pub(super) cpu: Cpu,
    pub(super) libc: Libc,
}

impl Platform {
    /// Reads the program.
    pub(super) fn of(program: &[u8]) -> Result<Self> {
        let header = FileHeader64::<Endianness>::parse(program);
        let header = header.context("the binary is no Linux program of 64 bits")?;
        let cpu = match header.e_machine(header.endian()?) {
            EM_X86_64 => Cpu::X86,
            EM_AARCH64 => Cpu::Arm,
            other => bail!("no package is made for the machine {}", other.0),
        };
        Ok(Self { cpu, libc: libc(header, program)? })
    }

    /// The processor by its name in the kernel.
    pub(super) fn machine(self) -> &'static str {
        match self.cpu {
            Cpu::X86 => "x86_64",
            Cpu::Arm => "aarch64",
        }
    }

    /// The target by its name in Rust.
    pub(super) fn triple(self) -> String {
        let libc = match self.libc {
            Libc::Gnu(_) => "gnu",
            Libc::None => "musl",
        };
        format!("{}-unknown-linux-{libc}", self.machine())
    }
}

fn libc(header: &FileHeader64<Endianness>, program: &[u8]) -> Result<Libc> {
    let endian = header.endian()?;
    let segments = header.program_headers(endian, program)?;
    let Some(loader) = segments.iter().find(|segment| segment.p_type(endian) == PT_INTERP) else {
        return Ok(Libc::None);
    };
    let loader = loader.data(endian, program).ok().context("the name of the loader is not in the file")?;
    if String::from_utf8_lossy(loader).contains("musl") {
        bail!("a program that needs musl runs nowhere else; link it statically");
    }
    let sections = header.sections(endian, program)?;
    let mut newest = 0;
    if let Some((mut needs, strings)) = sections.gnu_verneed(endian, program)? {
        let strings = sections.strings(endian, program, strings)?;
        while let Some((_, mut versions)) = needs.next()? {
            while let Some(version) = versions.next()? {
                newest = newest.max(gnu(version.name(endian, strings)?).unwrap_or_default());
            }
        }
    }
    Ok(Libc::Gnu(newest))
}

/// The minor version: `34` of `GLIBC_2.34`.
fn gnu(version: &[u8]) -> Option<u32> {
    let number = std::str::from_utf8(version).ok()?.strip_prefix("GLIBC_2.")?;
    number.split('.').next()?.parse().ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The header of a static program for x86-64 without content.
    pub(in crate::dist) fn static_program() -> Vec<u8> {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([2, 0, 62, 0, 1, 0, 0, 0]);
        bytes.extend([0; 24]);
        bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 0, 0, 64, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn a_static_program_needs_no_c_library() {
        let found = Platform::of(&static_program()).unwrap();
        assert_eq!(found, Platform { cpu: Cpu::X86, libc: Libc::None });
        assert_eq!(found.triple(), "x86_64-unknown-linux-musl");
    }

    #[test]
    fn versions_of_the_gnu_c_library_are_numbers() {
        assert_eq!(gnu(b"GLIBC_2.34"), Some(34));
        assert_eq!(gnu(b"GLIBC_2.2.5"), Some(2));
        assert_eq!(gnu(b"GCC_3.0"), None);
    }

    #[test]
    fn what_is_no_program_is_refused() {
        assert!(Platform::of(b"#!/bin/sh\n").is_err());
    }
}
