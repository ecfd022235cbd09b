//! Lists the files of the page below `web/`, and compresses each once, so that the server does neither.
//! Must not know: what is in a file.

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};

fn main() -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    let (web, out) = (variable("CARGO_MANIFEST_DIR")?.join("web"), variable("OUT_DIR")?);
    println!("cargo::rerun-if-changed={}", web.display());
    let mut files = Vec::new();
    gather(&web, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for (nth, path) in files.iter().enumerate() {
        println!("cargo::rerun-if-changed={}", path.display());
        let zipped = out.join(format!("{nth}.gz"));
        compress(path, &zipped)?;
        let name = path.strip_prefix(&web).unwrap_or(path).to_string_lossy().replace('\\', "/");
        list.push_str(&format!(
            "    File {{ name: {name:?}, plain: include_bytes!({path:?}), zipped: include_bytes!({zipped:?}) }},\n"
        ));
    }
    list.push(']');
    fs::write(out.join("files.rs"), list)
}

fn gather(directory: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if entry.file_type()?.is_dir() {
            println!("cargo::rerun-if-changed={}", entry.path().display());
            gather(&entry.path(), into)?;
        } else if !is_hidden {
            into.push(entry.path());
        }
    }
    Ok(())
}

fn compress(from: &Path, to: &Path) -> io::Result<()> {
    let mut encoder = GzEncoder::new(fs::File::create(to)?, Compression::best());
    encoder.write_all(&fs::read(from)?)?;
    encoder.finish().map(drop)
}
