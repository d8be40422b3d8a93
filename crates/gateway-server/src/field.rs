use gateway_protocol::headers::Field;
use http::HeaderMap;

/// A header as the checks of mirrored headers want it: two of a name are not one.
pub(crate) fn field<'a>(headers: &'a HeaderMap, name: &str) -> Field<'a> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Field::Absent,
        (Some(value), None) => Field::Once(value.as_bytes()),
        (Some(_), Some(_)) => Field::Repeated,
    }
}
