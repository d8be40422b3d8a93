use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use zeroize::Zeroizing;

/// What stays as it is in `application/x-www-form-urlencoded` and in RFC 3986 alike.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Parameters of a query or a form, in order. Their memory is overwritten in the end, for some are secrets.
#[derive(Default)]
pub(super) struct Form(Vec<(&'static str, Zeroizing<String>)>);

impl Form {
    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.0.push((name, Zeroizing::new(value.to_owned())));
        self
    }

    /// Adds it only if there is something to add.
    pub(super) fn with_some(self, name: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) if !value.is_empty() => self.with(name, value),
            _ => self,
        }
    }

    pub(super) fn encoded(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::new());
        for (name, value) in &self.0 {
            if !text.is_empty() {
                text.push('&');
            }
            text.push_str(name);
            text.push('=');
            text.extend(utf8_percent_encode(value, ESCAPED));
        }
        text
    }
}

/// One value, escaped.
pub(super) fn escaped(value: &str) -> String {
    utf8_percent_encode(value, ESCAPED).to_string()
}

/// The parameters of a query or form that somebody sent, unescaped. What is not UTF-8 has replacement characters.
pub(super) fn parameters(text: &str) -> Vec<(String, String)> {
    let plain = |part: &str| percent_decode_str(&part.replace('+', " ")).decode_utf8_lossy().into_owned();
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (plain(name), plain(value))
    };
    text.split('&').filter(|part| !part.is_empty()).take(MOST_PARAMETERS).map(pair).collect()
}

/// The one value of a parameter; `None` also if it is there twice (RFC 6749 §3.1).
pub(super) fn only<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut values = parameters.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

const MOST_PARAMETERS: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_form_is_escaped_and_leaves_out_what_is_empty() {
        let form = Form::default().with("a", "x y&z=1+ü").with_some("b", Some("")).with_some("c", None);
        assert_eq!(*form.with_some("d", Some("~-._")).encoded(), "a=x%20y%26z%3D1%2B%C3%BC&d=~-._");
    }

    #[test]
    fn a_parameter_that_is_there_twice_is_none() {
        let found = parameters("a=1&b=+%2B&a=2&c&&d=%ff");
        assert_eq!(only(&found, "a"), None);
        assert_eq!(only(&found, "b"), Some(" +"));
        assert_eq!(only(&found, "c"), Some(""));
        assert_eq!(only(&found, "d"), Some("\u{fffd}"));
        assert_eq!(only(&found, "e"), None);
    }

    #[test]
    fn parameters_without_end_are_not_read() {
        assert_eq!(parameters(&"a=1&".repeat(1000)).len(), MOST_PARAMETERS);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(value in ".*") {
            let text = Form::default().with("a", &value).encoded();
            let read = parameters(&text);
            prop_assert_eq!(only(&read, "a"), Some(value.as_str()));
        }
    }
}
