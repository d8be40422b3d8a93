use std::sync::Arc;

use super::compiler::Compiler;
use crate::{
    definition::{Output, OutputProperty, OutputValue, Place},
    plan::{PlannedOutput, PlannedProperty, PlannedValue},
};

pub(super) fn output(compiler: &mut Compiler<'_, '_>, written: &Output) -> Option<PlannedOutput> {
    let place = Place::default().member("output").member("properties");
    let properties = properties(compiler, &place, &written.properties)?;
    Some(PlannedOutput { properties, required: written.required.clone() })
}

/// Nested no deeper than the text was that they were read from.
fn properties(
    compiler: &mut Compiler<'_, '_>,
    place: &Place,
    written: &[(Arc<str>, OutputProperty)],
) -> Option<Vec<PlannedProperty>> {
    let properties: Vec<_> = written
        .iter()
        .map(|(name, written)| property(compiler, &place.member(name), name, written))
        .collect();
    properties.into_iter().collect()
}

fn property(
    compiler: &mut Compiler<'_, '_>,
    place: &Place,
    name: &Arc<str>,
    written: &OutputProperty,
) -> Option<PlannedProperty> {
    let before = compiler.mentions.len();
    let value = match &written.value {
        OutputValue::Template(text) => {
            compiler.template(&place.member("value"), text).map(PlannedValue::Template)
        }
        OutputValue::Properties(nested) => {
            properties(compiler, &place.member("properties"), nested).map(PlannedValue::Properties)
        }
    };
    if written.default.is_some() {
        // The default takes the place of whatever is missing in it (C-71).
        compiler.mentions[before..].iter_mut().for_each(|mention| mention.is_replaced = true);
    }
    Some(PlannedProperty {
        name: name.clone(),
        kind: written.kind,
        value: value?,
        default: written.default.clone(),
    })
}
