use crate::ir::Method;

/// An operation's id (E-42): what its source calls it, with `_` in place of anything but letters, digits and `_`; if
/// nothing of its name would be left, the method and the path's segments: `GET /users/{id}` is `get_users_id`.
pub(super) fn operation_id(given: Option<&str>, method: Method, path: &str) -> String {
    let given = given.map(legal_id).filter(|id| id.contains(|c: char| c.is_ascii_alphanumeric()));
    given.unwrap_or_else(|| {
        let segments = path.split('/').map(|segment| segment.replace(['{', '}'], ""));
        let segments = segments.filter(|segment| !segment.is_empty());
        let words: Vec<_> = std::iter::once(method.as_str().to_ascii_lowercase()).chain(segments).collect();
        legal_id(&words.join("_"))
    })
}

/// The same of a name alone, without the space around it; what operators name operations by is read like this as well.
pub(crate) fn legal_id(text: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    text.trim().chars().map(legal).take(MOST_CHARACTERS).collect()
}

/// Names of tools are shorter; what they are cut from need not be longer than this.
const MOST_CHARACTERS: usize = 1024;

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
        check(Some("获取"), "/pets", "get_pets");
        check(Some("_"), "/pets", "get_pets");
        check(Some(&"a".repeat(2_000)), "/pets", &"a".repeat(1_024));
    }

    #[test]
    fn without_one_it_is_the_method_and_the_path() {
        check(None, "/users/{id}/repos", "get_users_id_repos");
        check(Some(" "), "/v1.0/{a}-{b}/", "get_v1_0_a_b");
        check(None, "/", "get");
    }
}
