//! The path of a request: the operation's with values in place of its placeholders (security.md T16).

mod guard;
mod style;
mod template;

use gateway_domain::RawJson;

pub(super) use self::template::Template;
use self::{guard::check_segment, template::Part};
use super::encode;
use crate::{engine::CallError, ir::Param};

/// The value of a parameter of the path, by its name.
type Lookup<'a> = dyn Fn(&str) -> Result<(&'a Param, RawJson), CallError> + 'a;

/// The path, encoded, beginning with `/`.
///
/// # Errors
/// [`CallError::Arguments`] for values that may not stand there, [`CallError::Request`] where there is none to be had.
pub(super) fn write(template: &Template<'_>, value: &Lookup<'_>) -> Result<String, CallError> {
    let mut path = String::new();
    for segment in template.segments() {
        path.push('/');
        let start = path.len();
        let mut names = Vec::new();
        for part in segment {
            match part {
                Part::Text(text) => path.push_str(&encode::path(text)),
                Part::Placeholder(name) => {
                    let (param, value) = value(name)?;
                    style::write(&mut path, param, &value)?;
                    names.push(*name);
                }
            }
        }
        check_segment(&path[start..], &names)?;
    }
    Ok(path)
}
