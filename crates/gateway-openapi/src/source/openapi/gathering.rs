//! The documents that references lead to (E-W21): the reader says which it wants, those that are allowed are read, and
//! the reader begins anew.

use std::{collections::BTreeSet, fs, path::Path};

use bytes::Bytes;
use tokio::{task::spawn_blocking, time::Instant};

use super::{
    Limits,
    library::{DocumentId, Wanted},
    reading::{Opened, Reading},
    text,
};
use crate::{
    engine::HttpClient,
    ir::Listing,
    source::{Place, References, SourceError},
};

/// How many documents one after the other may lead to the next.
const MOST_ROUNDS: usize = 16;

/// How many different references to other documents there may be.
const MOST_LINKS: usize = 4_096;

/// Reads a document and those that it needs.
pub(super) struct Gathering<'g> {
    references: &'g References,
    client: Option<&'g dyn HttpClient>,
    limits: Limits,
    /// Where the documents of the shelf are from, in its order.
    places: Vec<(Place, DocumentId)>,
    /// Bytes that other documents may still have, all together.
    bytes_left: usize,
    links: usize,
    /// How many other documents were asked for, those that could not be read included.
    attempts: usize,
    /// When the last of them has to be there.
    deadline: Instant,
}

impl<'g> Gathering<'g> {
    pub(super) fn new(
        references: &'g References,
        client: Option<&'g dyn HttpClient>,
        limits: Limits,
    ) -> Self {
        let bytes_left = limits.document_bytes;
        let deadline = Instant::now() + limits.time;
        Self { references, client, limits, places: Vec::new(), bytes_left, links: 0, attempts: 0, deadline }
    }

    /// The listing, and the places of the other documents.
    pub(super) async fn load(mut self, document: &Place) -> Result<(Listing, Vec<Place>), SourceError> {
        let limits = self.limits;
        let content = document.fetch(self.client, limits.document_bytes).await?;
        let name = document.name();
        let mut opened = blocking(&name, {
            let name = name.clone();
            move || Opened::new(content, &name, &limits)
        })
        .await??;
        self.places.push((identified(document).await, DocumentId::default()));
        for _ in 0..MOST_ROUNDS {
            let reading;
            (opened, reading) = read(opened, &name, limits).await?;
            if reading.wanted.is_empty() || self.references.is_empty() {
                return Ok((reading.listing, self.others()));
            }
            self.settle(reading.wanted, &mut opened).await?;
        }
        let (_, reading) = read(opened, &name, limits).await?;
        Ok((reading.listing, self.others()))
    }

    async fn settle(&mut self, wanted: BTreeSet<Wanted>, opened: &mut Opened) -> Result<(), SourceError> {
        for wanted in wanted {
            self.links += 1;
            if self.links > MOST_LINKS {
                let source_name = self.base(DocumentId::default()).map(Place::name).unwrap_or_default();
                return Err(SourceError::TooLarge {
                    source_name,
                    what: "references to other documents",
                    limit: MOST_LINKS,
                });
            }
            let target = self.target(&wanted, opened).await.map_err(|error| error.to_string());
            opened.shelf.link(wanted, target);
        }
        Ok(())
    }

    async fn target(&mut self, wanted: &Wanted, opened: &mut Opened) -> Result<DocumentId, SourceError> {
        let Some(base) = self.base(wanted.base) else {
            return Err(SourceError::Unreadable { source_name: String::new(), reason: "it is gone".into() });
        };
        let place = self.references.resolve(base, &wanted.reference).await?;
        if let Some((_, known)) = self.places.iter().find(|(known, _)| *known == place) {
            return Ok(*known);
        }
        if self.attempts == self.limits.documents {
            let (what, limit) = ("other documents", self.limits.documents);
            return Err(SourceError::TooLarge { source_name: place.name(), what, limit });
        }
        self.attempts += 1;
        let content = self.fetch(&place).await?;
        self.bytes_left -= content.len().min(self.bytes_left);
        let (name, limits) = (place.name(), self.limits);
        let json = blocking(&place.name(), move || text::parse(content, &name, &limits)).await??;
        let id = opened.shelf.add(json);
        self.places.push((place, id));
        Ok(id)
    }

    async fn fetch(&self, place: &Place) -> Result<Bytes, SourceError> {
        let late = || SourceError::Unreadable {
            source_name: place.name(),
            reason: format!("all documents together were not there within {:?}", self.limits.time),
        };
        if Instant::now() >= self.deadline {
            return Err(late());
        }
        let fetched = place.fetch(self.client, self.bytes_left);
        tokio::time::timeout_at(self.deadline, fetched).await.unwrap_or_else(|_| Err(late()))
    }

    fn base(&self, id: DocumentId) -> Option<&Place> {
        self.places.iter().find(|(_, known)| *known == id).map(|(place, _)| place)
    }

    fn others(self) -> Vec<Place> {
        self.places.into_iter().skip(1).map(|(place, _)| place).collect()
    }
}

async fn read(opened: Opened, name: &str, limits: Limits) -> Result<(Opened, Reading), SourceError> {
    let source_name = name.to_owned();
    let (opened, reading) = blocking(name, move || {
        let reading = opened.read(&source_name, &limits);
        (opened, reading)
    })
    .await?;
    Ok((opened, reading?))
}

/// Large documents take their time, which a worker of the runtime does not have.
async fn blocking<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SourceError> {
    let failed =
        |_| SourceError::Unreadable { source_name: name.to_owned(), reason: "reading was given up".into() };
    spawn_blocking(work).await.map_err(failed)
}

/// The place as references would name it.
async fn identified(place: &Place) -> Place {
    let Place::File(path) = place else { return place.clone() };
    let path = path.clone();
    let canonical = move || fs::canonicalize(&path).unwrap_or_else(|_| Path::to_owned(&path));
    spawn_blocking(canonical).await.map_or_else(|_| place.clone(), Place::File)
}
