//! Bundles (UI-2): `.mcpb` files, also those with the older ending `.dxt`, which hold an MCP server with its manifest.
//!
//! Reading one checks the archive, its signature and its manifest, and unpacks it into Gatehouse's own folder, so that
//! what is shown, tried and added later is what was read, whatever becomes of the file. Nothing here starts a program or
//! adds a server. Folders of bundles that no server uses are removed by [`BundleStore::sweep`].

mod archive;
mod der;
mod entry_path;
mod error;
#[cfg(test)]
mod fuzz;
mod launch;
mod manifest;
mod options;
mod signature;
mod unpacked;
mod variables;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_common::invisible_chars::one_line;
use gatehouse_common::owner_only;
use gatehouse_common::regular_file::{self, SymbolicLinks, UnreadFile};
use gatehouse_model::bundle::{BundlePreview, BundleSecretOption, BundleServer, BundleSignature, BundleTool};
use gatehouse_model::server::{ServerAppearance, ServerDraft, ServerLimits, StdioStreams};
use gatehouse_model::{Message, ServerConfig, Transport, message};
use gatehouse_store::to_server_name;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use self::archive::{Archive, EntryKind};
pub use self::error::{BundleError, ManifestError, OptionProblem};
pub use self::launch::BundleMachine;
use self::launch::{BundleContent, FilledLaunch, Launch, platform_name};
use self::manifest::{Manifest, ServerKind};
use self::signature::SignedFile;
pub use self::variables::BundlePlaces;

/// Folder of the data folder.
const FOLDER: &str = "bundles";
const MANIFEST: &str = "manifest.json";
/// Largest manifest, in bytes.
const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;
/// Length of the hash that names a folder, in hexadecimal digits: 160 bits, since paths may not be long on all systems.
const NAME_DIGITS: usize = 40;
/// How many bundles can be read and not yet added.
const MAX_READ: usize = 4;
const MAX_DESCRIPTION_CHARS: usize = 300;
/// Time for the first start of a server whose packages are installed then, in seconds.
const INSTALL_SECS: u32 = 180;

/// The bundles that were unpacked. All functions block on the disk.
pub struct BundleStore {
    folder: PathBuf,
    /// The last bundles that were read, in their order. Locked while files are written or removed.
    read: Mutex<VecDeque<Arc<ReadBundle>>>,
}

/// A bundle that was read since Gatehouse started.
struct ReadBundle {
    /// Name of its folder.
    name: String,
    folder: PathBuf,
    manifest: Manifest,
    launch: Launch,
    places: BundlePlaces,
    refusal: Option<BundleRefusal>,
}

/// Why a bundle that can be read is not added.
#[derive(Clone, Copy)]
enum BundleRefusal {
    SignatureMismatch,
    OtherSystem,
}

impl From<BundleRefusal> for BundleError {
    fn from(refusal: BundleRefusal) -> Self {
        match refusal {
            BundleRefusal::SignatureMismatch => Self::SignatureMismatch,
            BundleRefusal::OtherSystem => Self::OtherSystem,
        }
    }
}

/// A file that is read as a bundle.
#[derive(Clone, Copy, Debug)]
pub struct BundleFile<'a> {
    pub path: &'a Path,
    /// SHA-256 that it must have, in hexadecimal.
    pub sha256: Option<&'a str>,
}

impl BundleStore {
    #[must_use]
    pub fn new(data_dir: &Path) -> Self {
        Self { folder: data_dir.join(FOLDER), read: Mutex::default() }
    }

    /// Compares a bundle with its hash, reads it, unpacks it and says what it would do. The folder of one that a server of `servers` uses stays.
    /// Unpacking ends as soon as `is_cancelled` says so.
    ///
    /// # Errors
    /// If it is no bundle or not safe to unpack; then nothing is left of it.
    pub fn read(
        &self,
        file: BundleFile<'_>,
        machine: &BundleMachine<'_>,
        servers: &[ServerConfig],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<BundlePreview, BundleError> {
        let bytes = read_file(file.path)?;
        let has_hash = |expected: &str| hex::encode(Sha256::digest(&bytes)).eq_ignore_ascii_case(expected);
        if file.sha256.is_some_and(|expected| !has_hash(expected)) {
            return Err(BundleError::OtherFile);
        }
        let signed = SignedFile::split(&bytes);
        let archive = Archive::read(signed.content, signed.appended())?;
        let manifest = read_manifest(&archive)?;
        let mut name = hex::encode(Sha256::digest(signed.content));
        name.truncate(NAME_DIGITS);
        let folder = self.folder.join(&name);
        let has_file = |path: &str| archive.file(path).is_some();
        let content = BundleContent { folder: &folder, has_file: &has_file };
        let launch = Launch::new(&manifest, machine, &content)?;
        let signature = signed.verify();
        let preview = preview(&ReadParts {
            name: &name,
            folder: &folder,
            archive: &archive,
            manifest: &manifest,
            launch: &launch,
            machine,
            signature,
        })?;
        let refusal = refusal(&manifest, machine, &preview.signature);
        let mut read = self.read.lock();
        owner_only::make_folder(&self.folder).map_err(BundleError::Unwritten)?;
        unpacked::install(&archive, &folder, is_used(&name, servers), is_cancelled)?;
        if let Some(program) = &launch.program_file {
            unpacked::mark_executable(&folder.join(program)).map_err(BundleError::Unwritten)?;
        }
        read.retain(|other| other.name != name);
        let places = machine.places.clone();
        read.push_back(Arc::new(ReadBundle { name, folder, manifest, launch, places, refusal }));
        while read.len() > MAX_READ {
            read.pop_front();
        }
        Ok(preview)
    }

    /// The server that a bundle makes with these values of its options. `secrets` are the keys of the options that a
    /// secret is given for.
    ///
    /// # Errors
    /// If a value is missing or wrong, or the bundle may not be added.
    pub fn configure(
        &self,
        bundle: &str,
        values: &Map<String, Value>,
        secrets: &[String],
    ) -> Result<BundleServer, BundleError> {
        let found = self.read.lock().iter().find(|read| read.name == bundle).cloned();
        let bundle = found.ok_or(BundleError::Forgotten)?;
        if let Some(refusal) = bundle.refusal {
            return Err(refusal.into());
        }
        let values = options::check(&bundle.manifest, &bundle.places, values, secrets)?;
        let FilledLaunch { command, args, env, secrets } =
            bundle.launch.fill(&bundle.manifest, &values, secrets, bundle.places.system)?;
        let transport = Transport::Stdio {
            command,
            args,
            env,
            cwd: Some(bundle.folder.display().to_string()),
            streams: StdioStreams::default(),
        };
        let mut limits = ServerLimits::default();
        if bundle.manifest.server.kind == ServerKind::Uv {
            limits.connect_secs = INSTALL_SECS;
        }
        let description = one_line(&bundle.manifest.description, MAX_DESCRIPTION_CHARS);
        let look = ServerAppearance {
            description: (!description.is_empty()).then_some(description),
            ..ServerAppearance::default()
        };
        let name = to_server_name(&bundle.manifest.name).unwrap_or_else(|| "bundle".to_owned());
        let draft = ServerDraft { look, limits, ..ServerDraft::new(name, transport) };
        Ok(BundleServer { draft, secrets })
    }

    /// Removes the folders of bundles that no server uses, except those that were read last and are not of a server that
    /// is gone. `servers` are all that there are.
    pub fn sweep(&self, servers: &[ServerConfig], gone: &[ServerConfig]) {
        let mut read = self.read.lock();
        read.retain(|read| !is_used(&read.name, gone));
        unpacked::sweep(&self.folder, |name| {
            is_used(name, servers) || read.iter().any(|read| read.name == name)
        });
    }

    /// Whether a server runs a bundle that was unpacked here.
    #[must_use]
    pub fn runs(&self, server: &ServerConfig) -> bool {
        self.folder.to_str().is_some_and(|folder| is_used(folder, std::slice::from_ref(server)))
    }
}

/// Whether a server runs in the folder of a bundle, or names it anywhere in what it is started with.
fn is_used(name: &str, servers: &[ServerConfig]) -> bool {
    servers.iter().any(|server| match &server.transport {
        Transport::Stdio { command, args, env, cwd, .. } => {
            [command].into_iter().chain(args).chain(cwd).chain(env.values()).any(|text| text.contains(name))
        }
        Transport::Auto(_)
        | Transport::Http(_)
        | Transport::Sse(_)
        | Transport::Ws(_)
        | Transport::Builtin { .. } => false,
    })
}

/// The whole file, if it is one and not too large.
fn read_file(path: &Path) -> Result<Vec<u8>, BundleError> {
    match regular_file::read(path, archive::MAX_ARCHIVE_BYTES, SymbolicLinks::Follow) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(BundleError::Unread(io::ErrorKind::NotFound.into())),
        Err(UnreadFile::NotRegular) => Err(BundleError::Unread(io::ErrorKind::InvalidInput.into())),
        Err(UnreadFile::TooLarge) => Err(BundleError::TooLarge),
        Err(UnreadFile::Io(error)) => Err(BundleError::Unread(error)),
    }
}

fn read_manifest(archive: &Archive<'_>) -> Result<Manifest, BundleError> {
    let entry = archive.file(MANIFEST).ok_or(BundleError::NoManifest)?;
    if entry.size > MAX_MANIFEST_BYTES {
        return Err(BundleError::TooMuchContent);
    }
    let mut bytes = Vec::new();
    archive.unpack(entry, &mut bytes)?;
    let text = String::from_utf8(bytes)
        .map_err(|error| BundleError::Manifest(ManifestError::Json(format!("{error}."))))?;
    Manifest::read(&text)
}

fn refusal(
    manifest: &Manifest,
    machine: &BundleMachine<'_>,
    signature: &BundleSignature,
) -> Option<BundleRefusal> {
    let here = platform_name(machine.places.system);
    let platforms = manifest.compatibility.platforms.as_deref();
    if *signature == BundleSignature::Mismatch {
        Some(BundleRefusal::SignatureMismatch)
    } else if platforms.is_some_and(|all| !all.is_empty() && !all.iter().any(|platform| platform == here)) {
        Some(BundleRefusal::OtherSystem)
    } else {
        None
    }
}

/// What a preview is made of.
struct ReadParts<'a> {
    name: &'a str,
    folder: &'a Path,
    archive: &'a Archive<'a>,
    manifest: &'a Manifest,
    launch: &'a Launch,
    machine: &'a BundleMachine<'a>,
    signature: BundleSignature,
}

fn preview(parts: &ReadParts<'_>) -> Result<BundlePreview, BundleError> {
    let ReadParts { name, folder, archive, manifest, launch, machine, signature } = parts;
    let files = archive.entries().iter().filter(|entry| entry.kind != EntryKind::Folder);
    let secrets = manifest.options.iter().filter(|(_, option)| option.sensitive);
    Ok(BundlePreview {
        bundle: (*name).to_owned(),
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        description: manifest.description.clone(),
        long_description: manifest.long_description.clone(),
        author: manifest.author.clone(),
        command: launch.shown_command(),
        env: launch.shown_env(),
        folder: folder.display().to_string(),
        tools: manifest
            .tools
            .iter()
            .map(|tool| BundleTool { name: tool.name.clone(), description: tool.description.clone() })
            .collect(),
        more_tools: manifest.more_tools,
        options: options::schema(manifest, &machine.places)?.to_string(),
        secrets: secrets
            .map(|(key, option)| BundleSecretOption {
                key: key.clone(),
                title: option.title.clone(),
                description: option.description.clone(),
                required: option.required,
            })
            .collect(),
        signature: signature.clone(),
        files: u32::try_from(files.clone().count()).unwrap_or(u32::MAX),
        bytes: files.map(|entry| entry.size).sum(),
        warnings: warnings(manifest, launch, machine),
        refused: refusal(manifest, machine, signature).map(|refusal| BundleError::from(refusal).message()),
    })
}

/// What keeps a bundle from working on this computer, or should be known.
fn warnings(manifest: &Manifest, launch: &Launch, machine: &BundleMachine<'_>) -> Vec<Message> {
    let missing = launch
        .needed_program()
        .filter(|program| !(machine.has_program)(program))
        .map(|program| message!("error.bundles.warning.noProgram", program = program));
    let runtimes = manifest.compatibility.runtimes.iter().flatten().map(|(runtime, version)| {
        message!("error.bundles.warning.runtime", runtime = runtime, version = version)
    });
    missing.into_iter().chain(runtimes).collect()
}
