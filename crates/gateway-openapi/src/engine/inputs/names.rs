use std::collections::BTreeSet;

use super::{Reserved, reserved::reason};
use crate::ir::Operation;

/// The property of each parameter, in order, and of the body; `None` for those that are no inputs (E-W4, E-W11).
pub(super) fn assign(
    operation: &Operation,
    reserved: &Reserved,
    notes: &mut Vec<String>,
) -> (Vec<Option<String>>, Option<String>) {
    let params = &operation.params;
    let mut order: Vec<usize> = Vec::with_capacity(params.len());
    for (at, param) in params.iter().enumerate() {
        match reason(param, reserved) {
            Some(reason) => {
                notes.push(format!(
                    "the parameter `{}` in the {} is no input: {reason}",
                    param.name,
                    param.location.as_str()
                ));
            }
            None => order.push(at),
        }
    }
    order.sort_by_key(|at| params[*at].location);
    let mut taken = BTreeSet::new();
    let mut properties: Vec<Option<String>> = vec![None; params.len()];
    // Everybody who is first to have a name has it, before others are called something else.
    let (first, later): (Vec<_>, Vec<_>) =
        order.into_iter().partition(|at| taken.insert(params[*at].name.clone()));
    first.iter().for_each(|at| properties[*at] = Some(params[*at].name.clone()));
    let body = operation.body.as_ref().map(|_| match taken.insert("body".to_owned()) {
        true => "body".to_owned(),
        false => renamed("request_body".to_owned(), "the body", &mut taken, notes),
    });
    for at in later {
        let (name, location) = (&params[at].name, params[at].location);
        let whom = format!("the parameter `{name}` in the {}", location.as_str());
        let wish = format!("{name}_in_{}", location.as_str());
        properties[at] = Some(renamed(wish, &whom, &mut taken, notes));
    }
    (properties, body)
}

/// The wished name, with a number if need be. Ends: there are more numbers than names.
fn renamed(wish: String, whom: &str, taken: &mut BTreeSet<String>, notes: &mut Vec<String>) -> String {
    let mut name = wish.clone();
    let mut number = 2_usize;
    while !taken.insert(name.clone()) {
        name = format!("{wish}_{number}");
        number += 1;
    }
    notes.push(format!("{whom} is called `{name}`, since its name is taken"));
    name
}
