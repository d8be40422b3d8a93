use std::sync::Arc;

use gateway_domain::{JsonKind, RawJson, RawObject};

use crate::{
    definition::{Place, Problem},
    error::TemplateError,
    plan::check::{
        findings::{Findings, Part},
        mention::Mention,
    },
    schema::{Formats, Schema},
    template::{Reference, Template, Tree},
};

/// Compiles what stands in a definition, and takes note of what cannot be, and of what templates refer to.
pub(super) struct Compiler<'a, 'b> {
    /// Where it is.
    pub(super) part: Part,
    /// What the item is called there.
    pub(super) item: Option<Arc<str>>,
    pub(super) findings: &'a mut Findings<'b>,
    pub(super) mentions: Vec<Mention>,
    /// How many expressions there were up to here.
    pub(super) expressions: usize,
}

/// How many expressions a definition may have: compiled, each takes about 16 KiB.
const MAX_EXPRESSIONS: usize = 1000;

impl Compiler<'_, '_> {
    pub(super) fn template(&mut self, place: &Place, text: &str) -> Option<Template> {
        self.admit(place, text.matches(OPENING).count())?;
        let template = Template::compile(text).map_err(|error| broken(place, error));
        let template = self.findings.keep(template)?;
        for reference in template.references() {
            self.mention(place.clone(), reference);
        }
        Some(template)
    }

    /// Counts expressions before they are compiled. `None`: there are too many, which is said once.
    fn admit(&mut self, place: &Place, count: usize) -> Option<()> {
        let before = self.expressions;
        self.expressions = before.saturating_add(count);
        if self.expressions <= MAX_EXPRESSIONS {
            return Some(());
        }
        if before <= MAX_EXPRESSIONS {
            self.findings.add(place.problem(format!(
                "brings the workflow to {} expressions, but it may have {MAX_EXPRESSIONS} in all; let a loop do what \
                 is done again and again, or split the workflow",
                self.expressions
            )));
        }
        None
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
        self.admit(place, expressions(value))?;
        match Tree::compile(value) {
            Ok(tree) => {
                for (way, reference) in tree.references() {
                    self.mention(place.within(&way), reference);
                }
                Some(tree)
            }
            Err(errors) => {
                for error in errors {
                    self.findings.add(broken(place, error));
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
            let compiled = Schema::compile(schema, formats)
                .map_err(|cause| place.problem("must be a valid JSON Schema").because(cause));
            self.findings.keep(compiled).map(Some)
        })
    }
}

/// What an expression begins with.
const OPENING: &str = "{{";

/// How many expressions stand in the strings of a value.
fn expressions(value: &RawJson) -> usize {
    let mut count = 0;
    let mut open = vec![value.clone()];
    while let Some(value) = open.pop() {
        match value.kind() {
            JsonKind::String => count += value.to_text().map_or(0, |text| text.matches(OPENING).count()),
            JsonKind::Array => open.extend(value.elements(usize::MAX).unwrap_or_default()),
            JsonKind::Object => {
                let object = RawObject::try_from(value).unwrap_or_default();
                open.extend(object.iter().map(|(_, member)| member));
            }
            _ => {}
        }
    }
    count
}

/// C-36.
fn broken(place: &Place, error: TemplateError) -> Problem {
    place.within(&error.place).problem("is not a template that can be used").because(error.reason)
}
