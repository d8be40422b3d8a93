use std::sync::Arc;

use gateway_domain::{RawJson, RawObject};

use crate::{
    definition::{DefinitionError, Place},
    error::TemplateError,
    plan::check::{
        findings::{Findings, Part},
        mention::Mention,
    },
    schema::{Formats, Schema},
    template::{Reference, Template, Tree},
};

/// Compiles what stands in a definition, and takes note of what cannot be, and of what templates refer to.
pub(super) struct Compiler<'a> {
    /// Where it is.
    pub(super) part: Part,
    /// What the item is called there.
    pub(super) item: Option<Arc<str>>,
    pub(super) findings: &'a mut Findings,
    pub(super) mentions: Vec<Mention>,
}

impl Compiler<'_> {
    pub(super) fn template(&mut self, place: &Place, text: &str) -> Option<Template> {
        let template = Template::compile(text).map_err(|error| broken(place, error));
        let template = self.findings.keep(self.part, template)?;
        for reference in template.references() {
            self.mention(place.clone(), reference);
        }
        Some(template)
    }

    fn mention(&mut self, place: Place, reference: Reference) {
        let (part, item) = (self.part, self.item.clone());
        self.mentions.push(Mention { part, item, place, is_replaced: false, reference });
    }

    /// `Some(None)`: there is no condition.
    pub(super) fn condition(&mut self, place: &Place, text: Option<&str>) -> Option<Option<Template>> {
        text.map_or(Some(None), |text| self.template(&place.member("condition"), text).map(Some))
    }

    pub(super) fn tree(&mut self, place: &Place, value: &RawJson) -> Option<Tree> {
        match Tree::compile(value) {
            Ok(tree) => {
                for (way, reference) in tree.references() {
                    self.mention(place.within(&way), reference);
                }
                Some(tree)
            }
            Err(errors) => {
                for error in errors {
                    self.findings.add(self.part, broken(place, error));
                }
                None
            }
        }
    }

    /// `Some(None)`: there is no schema.
    pub(super) fn schema(
        &mut self,
        place: &Place,
        schema: Option<&RawObject>,
        formats: Formats,
    ) -> Option<Option<Schema>> {
        schema.map_or(Some(None), |schema| {
            let compiled = Schema::compile(schema, formats).map_err(|cause| DefinitionError {
                cause: Some(cause),
                ..place.problem("must be a valid JSON Schema")
            });
            self.findings.keep(self.part, compiled).map(Some)
        })
    }
}

/// C-36.
fn broken(place: &Place, error: TemplateError) -> DefinitionError {
    DefinitionError {
        cause: Some(error.reason),
        ..place.within(&error.place).problem("is not a template that can be used")
    }
}
