use std::collections::BTreeMap;

use super::{Operation, SecurityScheme};

/// Everything that a source knows of an API.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// The API's name, for display.
    pub title: Option<String>,
    /// Its version, for display.
    pub version: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Sorted by path; within a path as [`super::Method::ALL`] (E-41). Lists of embedders are as they were given.
    pub operations: Vec<Operation>,
    /// By name.
    pub schemes: BTreeMap<String, SecurityScheme>,
    /// What could not be made an operation.
    pub skipped: Vec<Skipped>,
}

impl From<Vec<Operation>> for Listing {
    fn from(operations: Vec<Operation>) -> Self {
        Self { operations, ..Self::default() }
    }
}

/// An operation that is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its method, in upper case.
    pub method: String,
    /// Its path as the source writes it.
    pub path: String,
    /// Its id, if it has one.
    pub id: Option<String>,
    /// Why, for the operator.
    pub reason: String,
}
