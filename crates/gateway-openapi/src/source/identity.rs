use crate::ir::Method;

/// An operation's id (E-42): what its source calls it, with `_` in place of anything but letters, digits and `_`; if
/// it has no name, the method and the path's segments: `GET /users/{id}` is `get_users_id`.
pub(super) fn operation_id(given: Option<&str>, method: Method, path: &str) -> String {
    match given.filter(|id| !id.trim().is_empty()) {
        Some(id) => legal_id(id.trim()),
        None => {
            let segments = path.split('/').map(|segment| segment.replace(['{', '}'], ""));
            let words = segments.filter(|segment| !segment.is_empty()).map(|segment| legal_id(&segment));
            std::iter::once(method.as_str().to_ascii_lowercase()).chain(words).collect::<Vec<_>>().join("_")
        }
    }
}

/// The characters that ids have (E-42).
pub(crate) fn legal_id(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: Option<&str>, path: &str, expected: &str) {
        assert_eq!(operation_id(given, Method::Get, path), expected);
    }

    #[test]
    fn a_given_id_is_made_of_letters_digits_and_underscores() {
        check(Some("listPets"), "/pets", "listPets");
        check(Some("pets/list-all"), "/pets", "pets_list_all");
        check(Some(" a b "), "/pets", "a_b");
        check(Some("größe"), "/pets", "gr__e");
    }

    #[test]
    fn without_one_it_is_the_method_and_the_path() {
        check(None, "/users/{id}/repos", "get_users_id_repos");
        check(Some(" "), "/v1.0/{a}-{b}/", "get_v1_0_a_b");
        check(None, "/", "get");
    }
}
