//! What is kept on disk is for its owner alone.

use std::{
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use blackbox::{Certificate, Cli};

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it can be changed");
}

/// Everything that others can read below a directory, by a way of directories that they can enter.
fn open_to_others(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        let metadata = entry.metadata().expect("it is there");
        if metadata.is_dir() && metadata.mode() & 0o011 != 0 {
            found.extend(open_to_others(&path));
        }
        if metadata.mode() & 0o077 != 0 {
            found.push(path);
        }
    }
    found
}

#[tokio::test]
async fn a_data_directory_that_was_open_is_closed_at_the_start() {
    let home = Cli::new(&[]);
    let data = home.dir().join("data");
    for name in ["", "blobs", "search"] {
        std::fs::create_dir_all(data.join(name)).expect("a directory");
        chmod(&data.join(name), 0o755);
    }
    std::fs::write(data.join("blobs/left"), "x").expect("a file");
    chmod(&data.join("blobs/left"), 0o644);
    let mut serve = home.start(&["serve", "--listen", "127.0.0.1:0", "--data", "data"]);
    serve.line_with("listening on").await;
    assert_eq!(open_to_others(&data), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_key_that_others_can_read_is_refused_with_the_remedy() {
    let home = Cli::new(&[]);
    let tls = Certificate::make(&home.dir());
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data", ":memory:"];
    let files = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let serve: Vec<&str> = serve.into_iter().chain(files).collect();
    for mode in [0o644, 0o640] {
        chmod(&tls.key, mode);
        let refused = home.run(&serve).await;
        assert!(refused.code == 1 && refused.err.contains("chmod 600"), "{refused:?}");
    }
    chmod(&tls.key, 0o600);
    home.start(&serve).line_with("listening on https://").await;
}
