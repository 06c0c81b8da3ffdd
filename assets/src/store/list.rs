//! Listing the store: what is there, what could be, and from where.

use std::fs;

use super::{State, Store, names};
use crate::catalogue::{ModelEntry, Role};
use crate::manifest::Origin;
use crate::{Error, Result};

/// One line of `models list`.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The model.
    pub id: String,
    /// What it is for.
    pub role: Role,
    /// Who brings it.
    pub origin: Origin,
    /// The profiles that need it; empty for the user's own.
    pub profiles: Vec<String>,
    /// One line for people.
    pub about: String,
    /// Its licence, where known.
    pub licence: String,
    /// Names of the packages that bring it, in order of preference; for the user's own, where it came from.
    pub from: Vec<String>,
    /// How it stands.
    pub state: State,
    /// Bytes on disk, or what it will take.
    pub size: u64,
    /// Bytes that a fetch from nothing downloads.
    pub download: u64,
}

impl Store {
    /// Everything there is and could be, in the order of the catalogue, then the user's own.
    ///
    /// # Errors
    /// When the models directory exists but cannot be listed.
    pub fn list(&self) -> Result<Vec<Listing>> {
        let mut listings = Vec::new();
        for model in self.catalogue.models() {
            listings.push(self.listing(model)?);
        }
        for id in self.user_ids()? {
            let state = self.state(&id)?;
            let manifest = match self.manifest(&id) {
                Ok(Some(manifest)) => manifest,
                // Removed meanwhile, or a record that cannot be read: the state says so.
                _ => continue,
            };
            listings.push(Listing {
                role: manifest.role,
                origin: Origin::User,
                profiles: Vec::new(),
                about: names(&manifest),
                licence: "the user's own".into(),
                from: manifest.from.iter().cloned().collect(),
                state,
                size: manifest.size(),
                download: 0,
                id,
            });
        }
        Ok(listings)
    }

    /// The ids of models that serve `role` and have something in place, the user's own first.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub fn with_role(&self, role: Role) -> Result<Vec<String>> {
        let mut found = self.list()?;
        found.retain(|listing| listing.role == role && matches!(listing.state, State::Whole | State::Incomplete(_)));
        found.sort_by_key(|listing| listing.origin == Origin::Catalogue);
        Ok(found.into_iter().map(|listing| listing.id).collect())
    }

    fn listing(&self, model: &ModelEntry) -> Result<Listing> {
        let mut packages = Vec::new();
        for member in model.files_for(&self.platform).flat_map(|file| file.sources.iter().flatten()) {
            if !packages.contains(&&member.package) {
                packages.push(&member.package);
            }
        }
        let first_choice: Vec<&String> = packages
            .iter()
            .copied()
            .filter(|key| {
                let uses_it = |file: &crate::FileEntry| file.sources[0].iter().any(|member| member.package == **key);
                model.files_for(&self.platform).any(uses_it)
            })
            .collect();
        let package = |key: &&String| self.catalogue.package(key);
        let planned = model.files_for(&self.platform).map(|file| file.size).sum();
        let manifest = self.manifest(&model.id).ok().flatten();
        Ok(Listing {
            id: model.id.clone(),
            role: model.role,
            origin: Origin::Catalogue,
            profiles: model.profiles.clone(),
            about: model.about.clone(),
            licence: model.licence.clone(),
            from: packages
                .iter()
                .filter_map(package)
                .map(|package| format!("{} {}", package.name, package.version))
                .collect(),
            state: self.state(&model.id)?,
            size: manifest.map_or(planned, |manifest| manifest.size()),
            download: first_choice.iter().filter_map(package).map(|package| package.size).sum(),
        })
    }

    /// Folders with a manifest whose id the catalogue does not have.
    fn user_ids(&self) -> Result<Vec<String>> {
        let failed = |e| Error::io("list", &self.root, e);
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(failed(e)),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let Ok(id) = entry.map_err(failed)?.file_name().into_string() else {
                continue;
            };
            if crate::catalogue::is_plain_name(&id)
                && self.catalogue.model(&id).is_none()
                && self.folder(&id).join(crate::MANIFEST).is_file()
            {
                ids.push(id);
            }
        }
        ids.sort();
        Ok(ids)
    }
}
