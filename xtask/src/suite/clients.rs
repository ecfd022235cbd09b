//! The stage of the clients: generated files are current, types check, and the tests pass against the
//! binary.
//! Must not know: how anything is installed.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    needs::clients::{Compiler, Tools, ensure},
    process, workspace,
};

/// The time limit of one test in TypeScript, in ms; in Python each test has its own.
const TEST_MS_MAX: &str = "120000";

/// Runs everything.
pub(super) fn run(root: &Path, binary: &Path) -> Result<()> {
    let (python, typescript) = (root.join("clients/python"), root.join("clients/typescript"));
    let tools = ensure(&typescript)?;
    let target = workspace::metadata(root)?.target_directory;
    in_python(&tools, &python, &target, binary)?;
    in_typescript(&tools.compiler, &typescript, binary)
}

fn in_python(tools: &Tools, directory: &Path, target: &Path, binary: &Path) -> Result<()> {
    let python = |args: &[&str]| {
        let mut command = Command::new(&tools.python);
        command.current_dir(directory).args(args);
        command.env("PYTHONDONTWRITEBYTECODE", "1").env(super::BINARY, binary);
        command
    };
    process::run(python(&["-m", "mypy", "--cache-dir"]).arg(target.join("clients-mypy")))?;
    process::run(&mut python(&["-m", "pytest", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=120"]))?;
    // The published wheel has the types.
    let wheels = target.join("clients-wheel");
    let pip = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"];
    process::run(python(&pip).arg(&wheels).arg("."))
}

fn in_typescript(compiler: &Compiler, directory: &Path, binary: &Path) -> Result<()> {
    let node = |args: &[&str]| {
        let mut command = Command::new(&compiler.node);
        command.current_dir(directory).args(args).env(super::BINARY, binary);
        command
    };
    for build in ["build", "dist"] {
        let built = directory.join(build);
        if built.exists() {
            std::fs::remove_dir_all(&built)
                .with_context(|| format!("could not remove {}", built.display()))?;
        }
    }
    for project in ["tsconfig.json", "tsconfig.tests.json"] {
        let mut compile = node(&[]);
        process::run(compile.arg(&compiler.tsc).args(["--project", project]))?;
    }
    let mut test = node(&["--test", "--test-timeout", TEST_MS_MAX]);
    process::run(test.args(tests(&directory.join("build/tests"))?))
}

/// The test files, sorted.
fn tests(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".test.js") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
