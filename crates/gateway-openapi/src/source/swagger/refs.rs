use gateway_domain::RawJson;

/// Where things are in Swagger 2.0 and where in OpenAPI 3.0. `securityDefinitions` are never referred to.
const PLACES: [(&str, &str); 3] = [
    ("#/definitions/", "#/components/schemas/"),
    ("#/parameters/", "#/components/parameters/"),
    ("#/responses/", "#/components/responses/"),
];

/// The text with references to where things are now, and with `nullable` for the extension that stood for it.
///
/// One pass over the strings of the text. A `$ref` in an example is changed as well, which does no harm; a property
/// that is called `$ref` has a schema as value, which is no string.
pub(super) fn rewritten(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + json.len() / 16);
    let mut rest = json;
    while let Some(begin) = next_string(rest) {
        let end = begin + string_length(&rest[begin..]);
        let (before, string, after) = (&rest[..begin], &rest[begin..end], &rest[end..]);
        out.extend_from_slice(before);
        rest = after;
        match string {
            br#""$ref""# => {
                out.extend_from_slice(string);
                rest = target(rest, &mut out).unwrap_or(rest);
            }
            br#""x-nullable""# if is_member_true(rest) => out.extend_from_slice(br#""nullable""#),
            _ => out.extend_from_slice(string),
        }
    }
    out.extend_from_slice(rest);
    out
}

/// Writes the colon and the new target, if `rest` goes on with a target that is somewhere else now, and returns what
/// comes after it.
fn target<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let value = after_colon(rest)?;
    let length = value.first().filter(|first| **first == b'"').map(|_| string_length(value))?;
    // Decoded, because some writers put a backslash before each slash.
    let decoded = RawJson::parse(value[..length].to_vec()).ok()?;
    let target = decoded.to_text()?;
    let (_, new, name) =
        PLACES.iter().find_map(|(old, new)| target.strip_prefix(old).map(|name| (old, new, name)))?;
    out.push(b':');
    out.extend_from_slice(RawJson::string(&format!("{new}{name}")).as_bytes());
    Some(&value[length..])
}

fn is_member_true(rest: &[u8]) -> bool {
    after_colon(rest).is_some_and(|value| value.starts_with(b"true"))
}

fn after_colon(rest: &[u8]) -> Option<&[u8]> {
    rest.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start)
}

/// The length of the string that the text begins with, quotes included; in valid JSON there is its end.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    let end = text.iter().skip(1).position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |at| at + 2)
}

fn next_string(text: &[u8]) -> Option<usize> {
    text.iter().position(|byte| *byte == b'"')
}
