use std::sync::Arc;

use gateway_domain::{JsonKind, RawJson, RawObject};

use super::{
    Context, Reference, Template, check_expressions, coerce, split,
    write::{DEPTH_LIMIT, Writer, failed},
};
use crate::error::{TemplateError, place_within};

/// A JSON value whose strings are templates (C-57). What has none in it keeps its bytes.
/// Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    root: Arc<Branch>,
}

#[derive(Debug)]
enum Branch {
    Raw(RawJson),
    Template(Template),
    Array(Vec<Self>),
    /// Names are never templates.
    Object(Vec<(String, Self)>),
}

impl Tree {
    /// Compiles all strings of a value, however nested.
    ///
    /// # Errors
    /// Every template that does not compile, with its place.
    pub(crate) fn compile(value: &RawJson) -> Result<Self, Vec<TemplateError>> {
        let mut errors = Vec::new();
        let root = Branch::compile(value, "", 0, &mut errors);
        errors.extend(check_expressions(root.expressions()).err());
        if errors.is_empty() { Ok(Self { root: Arc::new(root) }) } else { Err(errors) }
    }

    /// What its templates refer to, each with the place of the template.
    pub(crate) fn references(&self) -> Vec<(String, Reference)> {
        let mut found = Vec::new();
        self.root.references("", &mut found);
        found
    }

    /// The value with all templates expanded. `limit` bounds its bytes while they are written (C-W20). With the
    /// `inputSchema` of a tool, texts become the numbers and booleans that it wants, if they can (C-46).
    ///
    /// # Errors
    /// The first template that does not come to a value, with its place; or there is too much to write.
    pub(crate) fn expand(
        &self,
        context: &Context,
        schema: Option<&RawObject>,
        limit: usize,
    ) -> Result<RawJson, TemplateError> {
        let mut out = Writer::new(limit);
        self.root.write(context, &mut out)?;
        let value = out.finish()?;
        Ok(match schema {
            Some(schema) => coerce::coerce(value, schema),
            None => value,
        })
    }
}

impl Branch {
    fn compile(value: &RawJson, place: &str, depth: usize, errors: &mut Vec<TemplateError>) -> Self {
        let nests = matches!(value.kind(), JsonKind::Array | JsonKind::Object);
        if nests && depth == DEPTH_LIMIT {
            errors.push(at(place, failed(format!("is nested deeper than {DEPTH_LIMIT} levels"))));
            return Self::Raw(value.clone());
        }
        let compiled = match value.kind() {
            JsonKind::String => Self::text(value, place, errors),
            JsonKind::Array => Self::array(value, place, depth + 1, errors),
            JsonKind::Object => Self::object(value, place, depth + 1, errors),
            _ => None,
        };
        compiled.unwrap_or_else(|| Self::Raw(value.clone()))
    }

    fn text(value: &RawJson, place: &str, errors: &mut Vec<TemplateError>) -> Option<Self> {
        let text = value.to_text().filter(|text| split::is_template(text))?;
        Template::compile(&text).map_err(|error| errors.push(at(place, error))).ok().map(Self::Template)
    }

    fn array(value: &RawJson, place: &str, depth: usize, errors: &mut Vec<TemplateError>) -> Option<Self> {
        let elements = value.elements(usize::MAX)?;
        let elements = elements.iter().enumerate();
        let branches: Vec<_> =
            elements.map(|(n, value)| Self::compile(value, &element(place, n), depth, errors)).collect();
        branches.iter().any(Self::is_changed).then_some(Self::Array(branches))
    }

    fn object(value: &RawJson, place: &str, depth: usize, errors: &mut Vec<TemplateError>) -> Option<Self> {
        let object = RawObject::try_from(value.clone());
        let object = object.map_err(|error| errors.push(at(place, failed(error.to_string())))).ok()?;
        let members = object.iter().map(|(name, value)| {
            let branch = Self::compile(&value, &place_within(place, &name), depth, errors);
            (name.into_owned(), branch)
        });
        let members: Vec<_> = members.collect();
        members.iter().any(|(_, branch)| branch.is_changed()).then_some(Self::Object(members))
    }

    fn is_changed(&self) -> bool {
        !matches!(self, Self::Raw(_))
    }

    fn references(&self, place: &str, found: &mut Vec<(String, Reference)>) {
        match self {
            Self::Raw(_) => {}
            Self::Template(template) => {
                found
                    .extend(template.references().into_iter().map(|reference| (place.to_owned(), reference)));
            }
            Self::Array(elements) => {
                let elements = elements.iter().enumerate();
                elements.for_each(|(n, branch)| branch.references(&element(place, n), found));
            }
            Self::Object(members) => {
                members
                    .iter()
                    .for_each(|(name, branch)| branch.references(&place_within(place, name), found));
            }
        }
    }

    fn expressions(&self) -> usize {
        match self {
            Self::Raw(_) => 0,
            Self::Template(template) => template.expressions(),
            Self::Array(elements) => elements.iter().map(Self::expressions).sum(),
            Self::Object(members) => members.iter().map(|(_, branch)| branch.expressions()).sum(),
        }
    }

    /// Errors tell their places from here on.
    fn write(&self, context: &Context, out: &mut Writer) -> Result<(), TemplateError> {
        match self {
            Self::Raw(value) => out.raw(value.as_str()),
            Self::Template(template) => template.write(context, out),
            Self::Array(elements) => {
                let mut separator = "[";
                for (n, branch) in elements.iter().enumerate() {
                    out.raw(separator)?;
                    branch.write(context, out).map_err(|error| error.within(&element("", n)))?;
                    separator = ",";
                }
                out.raw("]")
            }
            Self::Object(members) => {
                let mut separator = "{";
                for (name, branch) in members {
                    out.raw(separator)?;
                    out.text(|out| out.escaped(name))?;
                    out.raw(":")?;
                    branch.write(context, out).map_err(|error| error.within(name))?;
                    separator = ",";
                }
                out.raw("}")
            }
        }
    }
}

fn element(place: &str, n: usize) -> String {
    place_within(place, &format!("[{n}]"))
}

fn at(place: &str, error: TemplateError) -> TemplateError {
    TemplateError { place: place.to_owned(), ..error }
}
