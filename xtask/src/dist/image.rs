//! The container image: an OCI layout in a tar archive with only the static binary. It runs without root
//! and on a read-only root file system.
//! Must not know: any registry.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    Release,
    archive::{Entry, gzip, sha256, tar},
    elf::{Cpu, Libc},
};

/// The user of the server, unknown to the host.
const USER: u64 = 65_532;
const PASSWD: &str = "plenary:x:65532:65532:Plenary:/var/lib/plenary:/sbin/nologin\n";
const GROUP: &str = "plenary:x:65532:\n";

/// A blob with the data of its descriptor.
struct Blob {
    media: &'static str,
    bytes: Vec<u8>,
}

impl Blob {
    fn hex(&self) -> String {
        hex::encode(sha256(&self.bytes))
    }

    fn descriptor(&self) -> Value {
        json!({"mediaType": self.media, "digest": format!("sha256:{}", self.hex()), "size": self.bytes.len()})
    }
}

/// The archive's file name and bytes; `None` if the binary needs libraries, which the image does not
/// have.
pub(super) fn pack(release: &Release) -> Result<Option<(String, Vec<u8>)>> {
    if release.platform.libc != Libc::None {
        return Ok(None);
    }
    let architecture = match release.platform.cpu {
        Cpu::X86 => "amd64",
        Cpu::Arm => "arm64",
    };
    let root = tar(&layer(release), release.epoch)?;
    let diff = format!("sha256:{}", hex::encode(sha256(&root)));
    let layer =
        Blob { media: "application/vnd.oci.image.layer.v1.tar+gzip", bytes: gzip(&root, release.level)? };
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": [
                "PATH=/usr/bin", "HOME=/var/lib/plenary", "PLENARY_DATA=/var/lib/plenary", "PLENARY_LISTEN=0.0.0.0:7420",
            ],
            "Entrypoint": ["/usr/bin/plenary"],
            "Cmd": ["serve"],
            "ExposedPorts": {"7420/tcp": {}},
            "Volumes": {"/var/lib/plenary": {}},
            "WorkingDir": "/var/lib/plenary",
            "Labels": {
                "org.opencontainers.image.title": "plenary",
                "org.opencontainers.image.description": super::SUMMARY,
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [diff]},
    });
    let config =
        Blob { media: "application/vnd.oci.image.config.v1+json", bytes: config.to_string().into_bytes() };
    let media = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({
        "schemaVersion": 2, "mediaType": media, "config": config.descriptor(), "layers": [layer.descriptor()],
    });
    let manifest = Blob { media, bytes: manifest.to_string().into_bytes() };
    let mut named = manifest.descriptor();
    named["platform"] = json!({"architecture": architecture, "os": "linux"});
    named["annotations"] = json!({"org.opencontainers.image.ref.name": release.version});
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [named],
    });
    let index = index.to_string();
    let mut entries = vec![
        Entry::file("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#),
        Entry::file("index.json", index.as_bytes()),
        Entry::directory("blobs"),
        Entry::directory("blobs/sha256"),
    ];
    for blob in [&manifest, &config, &layer] {
        entries.push(Entry::file(format!("blobs/sha256/{}", blob.hex()), &blob.bytes));
    }
    let name = format!("plenary-{}-linux-{architecture}.oci.tar", release.version);
    Ok(Some((name, tar(&entries, release.epoch)?)))
}

/// The root file system.
fn layer(release: &Release) -> Vec<Entry<'_>> {
    vec![
        Entry::directory("etc"),
        Entry::file("etc/passwd", PASSWD.as_bytes()),
        Entry::file("etc/group", GROUP.as_bytes()),
        Entry { mode: 0o1777, ..Entry::directory("tmp") },
        Entry::directory("usr"),
        Entry::directory("usr/bin"),
        Entry::program("usr/bin/plenary", &release.program),
        Entry::directory("var"),
        Entry::directory("var/lib"),
        Entry { mode: 0o700, owner: USER, ..Entry::directory("var/lib/plenary") },
    ]
}
