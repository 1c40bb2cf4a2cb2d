//! An image for containers as an OCI archive, written without a container engine.
//!
//! Format: <https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md>.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

/// Nobody's, as in other images without a shell.
const USER: u64 = 65_532;
/// Where the program works, such as for runs: the only folder of that user.
const WORK: &str = "work";

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

const LICENSE_TEXT: &[u8] = include_bytes!("../../LICENSE");
/// The licences of what others wrote.
pub(crate) const NOTICES: &str = "THIRD-PARTY-LICENSES";

/// An image of one program.
pub(crate) struct Image<'a> {
    /// Also the program's, in `/usr/bin`.
    pub(crate) name: &'a str,
    pub(crate) tag: &'a str,
    pub(crate) program: &'a [u8],
    /// What it is linked with, by path, unless it is static.
    pub(crate) libraries: &'a [(String, Vec<u8>)],
    /// The licences of what others wrote in it, if anything.
    pub(crate) notices: Option<&'a [u8]>,
    /// When it was made, in seconds since 1970.
    pub(crate) made: u64,
}

impl Image<'_> {
    /// The archive, which `ctr images import`, `skopeo` and `docker load` read.
    pub(crate) fn archive(&self) -> Result<Vec<u8>> {
        let Image {
            name, tag, made, ..
        } = *self;
        let layer = self.layer()?;
        let mut zipped = GzBuilder::new().write(Vec::new(), Compression::default());
        zipped.write_all(&layer).context("compress the layer")?;
        let zipped = zipped.finish().context("compress the layer")?;
        let created = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(made));
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "created": created.to_string(),
            "config": {
                "User": format!("{USER}:{USER}"),
                "Entrypoint": [format!("/usr/bin/{name}")],
                "WorkingDir": format!("/{WORK}"),
                "Env": ["PATH=/usr/bin", format!("HOME=/{WORK}")],
            },
            "rootfs": { "type": "layers", "diff_ids": [digest(&layer)] },
        });
        let config = serde_json::to_vec(&config)?;
        let manifest = serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(CONFIG, &config),
            "layers": [descriptor(LAYER, &zipped)],
            "annotations": {
                "org.opencontainers.image.title": name,
                "org.opencontainers.image.version": tag,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        }))?;
        let mut described = descriptor(MANIFEST, &manifest);
        described["platform"] = json!({ "architecture": "amd64", "os": "linux" });
        // By the second name containerd's `ctr images import` calls the image.
        described["annotations"] = json!({
            "org.opencontainers.image.ref.name": tag,
            "io.containerd.image.name": format!("localhost/{name}:{tag}"),
        });
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [described] });

        // What `docker load` reads without containerd.
        let path = |blob: &[u8]| format!("blobs/{}", digest(blob).replace(':', "/"));
        let docker = json!([{
            "Config": path(&config),
            "RepoTags": [format!("{name}:{tag}")],
            "Layers": [path(&zipped)],
        }]);

        let mut tar = tar::Builder::new(Vec::new());
        let mut put = |path: &str, data: &[u8]| append(&mut tar, path, (0o644, 0), data, made);
        put("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        put("index.json", &serde_json::to_vec(&index)?)?;
        put("manifest.json", &serde_json::to_vec(&docker)?)?;
        for blob in [&manifest, &config, &zipped] {
            put(&path(blob), blob)?;
        }
        tar.into_inner().context("end the archive")
    }

    /// What is in the container: the program and its licence, a folder for files of its own, and one for
    /// temporary ones.
    fn layer(&self) -> Result<Vec<u8>> {
        let mut tar = tar::Builder::new(Vec::new());
        for (path, mode, user) in [
            ("tmp/", 0o1777, 0),
            ("usr/", 0o755, 0),
            ("usr/bin/", 0o755, 0),
            (&format!("{WORK}/"), 0o755, USER),
        ] {
            append(&mut tar, path, (mode, user), &[], self.made)?;
        }
        let program = format!("usr/bin/{}", self.name);
        append(&mut tar, &program, (0o755, 0), self.program, self.made)?;
        for (path, library) in self.libraries {
            append(&mut tar, path, (0o755, 0), library, self.made)?;
        }
        append(&mut tar, "LICENSE", (0o644, 0), LICENSE_TEXT, self.made)?;
        if let Some(notices) = self.notices {
            append(&mut tar, NOTICES, (0o644, 0), notices, self.made)?;
        }
        tar.into_inner().context("end the layer")
    }
}

/// Adds a file, or a folder if the path ends with a slash.
fn append(
    tar: &mut tar::Builder<Vec<u8>>,
    path: &str,
    (mode, user): (u32, u64),
    data: &[u8],
    seconds: u64,
) -> Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(match path.ends_with('/') {
        true => EntryType::Directory,
        false => EntryType::Regular,
    });
    header.set_mode(mode);
    header.set_uid(user);
    header.set_gid(user);
    header.set_mtime(seconds);
    header.set_size(data.len() as u64);
    tar.append_data(&mut header, path, data)
        .with_context(|| format!("add {path} to the image"))
}

fn descriptor(media_type: &str, blob: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": digest(blob), "size": blob.len() })
}

fn digest(blob: &[u8]) -> String {
    let hash = Sha256::digest(blob);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    type Files = BTreeMap<String, (u32, u64, Vec<u8>)>;

    fn image(program: &[u8]) -> Vec<u8> {
        let (name, tag, made) = ("windage", "0.1.0", 1_700_000_000);
        Image {
            name,
            tag,
            program,
            libraries: &[("lib/libc.so.6".to_owned(), b"a library".to_vec())],
            notices: Some(b"what others wrote"),
            made,
        }
        .archive()
        .unwrap()
    }

    /// Mode, owner and contents by path.
    fn unpacked(archive: &[u8]) -> Files {
        let mut files = Files::new();
        for entry in tar::Archive::new(archive).entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let (mode, owner) = (
                entry.header().mode().unwrap(),
                entry.header().uid().unwrap(),
            );
            let mut data = Vec::new();
            entry.read_to_end(&mut data).unwrap();
            files.insert(path, (mode, owner, data));
        }
        files
    }

    /// What a descriptor names, if its digest and size are right.
    fn blob(files: &Files, descriptor: &Value) -> Vec<u8> {
        let of = descriptor["digest"].as_str().unwrap();
        let (_, _, data) = &files[&format!("blobs/{}", of.replace(':', "/"))];
        assert_eq!(digest(data), of);
        assert_eq!(descriptor["size"], data.len());
        data.clone()
    }

    #[test]
    fn every_digest_leads_to_its_blob_and_the_layer_has_the_program() {
        let image = image(b"a program");
        let files = unpacked(&image);
        assert_eq!(files["oci-layout"].2, br#"{"imageLayoutVersion":"1.0.0"}"#);
        let index: Value = serde_json::from_slice(&files["index.json"].2).unwrap();
        let manifest = blob(&files, &index["manifests"][0]);
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let config: Value = serde_json::from_slice(&blob(&files, &manifest["config"])).unwrap();
        assert_eq!(config["config"]["User"], "65532:65532");
        assert_eq!(config["created"], "2023-11-14T22:13:20Z");
        let docker: Value = serde_json::from_slice(&files["manifest.json"].2).unwrap();
        for of in [&docker[0]["Config"], &docker[0]["Layers"][0]] {
            assert!(files.contains_key(of.as_str().unwrap()), "{docker}");
        }
        assert_eq!(
            files.len(),
            6,
            "index, layout, Docker's list, and three blobs"
        );

        let zipped = blob(&files, &manifest["layers"][0]);
        let mut layer = Vec::new();
        GzDecoder::new(&zipped[..]).read_to_end(&mut layer).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"][0], digest(&layer));
        let inside = unpacked(&layer);
        let program = (0o755, 0, b"a program".to_vec());
        assert_eq!(inside["usr/bin/windage"], program);
        assert_eq!(inside["lib/libc.so.6"].2, b"a library");
        assert_eq!(inside[NOTICES].2, b"what others wrote");
        assert_eq!(inside["tmp/"].0, 0o1777);
        assert_eq!(inside["work/"], (0o755, USER, Vec::new()));
    }

    #[test]
    fn the_same_program_gives_the_same_image() {
        let images = [(); 2].map(|()| image(b"a program"));
        assert!(images[0] == images[1]);
        assert!(images[0] != image(b"another one"));
    }
}
