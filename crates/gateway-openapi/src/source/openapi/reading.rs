use std::collections::BTreeSet;

use bytes::Bytes;
use gateway_domain::RawObject;

use super::{
    Limits,
    document::{self, Version},
    fault::Fault,
    library::{Resolver, Shelf, Wanted},
    object::{object, text},
    operation::{Reader, schemes},
    paths::{Exhausted, Found},
    text,
};
use crate::{
    ir::{Listing, Operation, Skipped},
    source::SourceError,
};

/// Reads a document, JSON or YAML, that needs no other document. Pure: looks at nothing else.
///
/// # Errors
/// [`SourceError::Invalid`] for what is no OpenAPI 3.0, 3.1 or 3.2 and no Swagger 2.0, with the JSON pointer of what is
/// wrong (E-W22); [`SourceError::TooLarge`]. A fault inside one operation only skips that operation.
pub fn read(document: Bytes, source_name: &str, limits: &Limits) -> Result<Listing, SourceError> {
    let opened = Opened::new(document, source_name, limits)?;
    opened.read(source_name, limits).map(|reading| reading.listing)
}

/// A document whose outlines have been checked, and those that it leads to.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) shelf: Shelf,
    version: Version,
}

/// What was found in it.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) listing: Listing,
    /// The references to other documents that are not settled.
    pub(super) wanted: BTreeSet<Wanted>,
}

impl Opened {
    pub(super) fn new(document: Bytes, source_name: &str, limits: &Limits) -> Result<Self, SourceError> {
        let json = text::parse(document, source_name, limits)?;
        let (root, version) = document::open(json, source_name)?;
        Ok(Self { shelf: Shelf::new(root), version })
    }

    pub(super) fn read(&self, source_name: &str, limits: &Limits) -> Result<Reading, SourceError> {
        let resolver = Resolver::new(&self.shelf);
        let node = resolver.root();
        let Some(root) = object(&node.value) else {
            return Err(SourceError::Invalid {
                source_name: source_name.to_owned(),
                reason: "it is not an object".into(),
            });
        };
        let mut listing = outlines(&root);
        listing.schemes = schemes(root.get("components").map(|value| node.with(value)), &resolver);
        let mut reader = Reader::new(&resolver, self.version, limits.result_bytes, &root);
        let paths = root.get("paths").map(|value| node.with(value));
        let read = match paths {
            Some(paths) => Found::read(&paths, &mut reader, limits),
            None => Ok(Found::default()),
        };
        let finished = read.and_then(|found| complete(found, reader, &mut listing));
        finished.map_err(|Exhausted(what)| SourceError::TooLarge {
            source_name: source_name.to_owned(),
            what,
            limit: if what == "operations" { limits.operations } else { limits.result_bytes },
        })?;
        Ok(Reading { listing, wanted: resolver.into_wanted() })
    }
}

fn outlines(root: &RawObject) -> Listing {
    let info = root.get("info").and_then(|info| object(&info)).unwrap_or_default();
    let version = info.get("version");
    Listing {
        title: text(&info, "title"),
        // YAML makes a number of `1.0`.
        version: version
            .map(|version| version.to_text().unwrap_or_else(|| version.as_str().into()).into_owned()),
        description: text(&info, "description"),
        ..Listing::default()
    }
}

/// Takes the operations whose references all lead somewhere.
fn complete(found: Found, mut reader: Reader<'_>, listing: &mut Listing) -> Result<(), Exhausted> {
    let Found { drafts, skipped } = found;
    listing.skipped = skipped;
    reader.schemas.complete();
    let mut with_outputs = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let outputs = draft.converted_outputs(&mut reader.schemas);
        with_outputs.push((draft, outputs));
    }
    if reader.schemas.is_exhausted() {
        return Err(Exhausted("bytes of schemas and texts"));
    }
    let finished = reader.schemas.finish();
    for (draft, outputs) in with_outputs {
        match draft.fault(&finished) {
            Some(fault) => listing.skipped.push(left_out(draft.finish(&finished, &[]), &fault)),
            None => listing.operations.push(draft.finish(&finished, &outputs)),
        }
    }
    Ok(())
}

fn left_out(operation: Operation, fault: &Fault) -> Skipped {
    let method = operation.method.to_string();
    Skipped { method, path: operation.path, id: Some(operation.id), reason: fault.to_string() }
}
