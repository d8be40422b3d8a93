use super::Response;

/// The text of an answer: its body, behind `HTTP <status>` and a line break unless it was a success (E-31, E-W20).
pub fn default_shape(response: &Response) -> String {
    let body = String::from_utf8_lossy(&response.body);
    if response.status.is_success() {
        body.into_owned()
    } else {
        format!("HTTP {}\n{body}", response.status.as_u16())
    }
}
