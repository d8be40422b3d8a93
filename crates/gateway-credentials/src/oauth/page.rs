//! How pages look: plain, with nothing from elsewhere.

/// Nothing is loaded, run or framed.
pub(super) const POLICY: &str = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/// A page with one sentence.
pub(super) fn plain_page(sentence: &str) -> String {
    page(&format!("<p>{}</p>", escaped(sentence)))
}

/// A page around what is in it, which is HTML.
pub(super) fn page(body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Gateway</title>\n<body>{body}</body></html>\n"
    )
}

/// A text, as it is in HTML and in quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_no_markup() {
        assert_eq!(escaped("<a b=\"c\" d='e'>&f"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;f");
        let page = plain_page("<script>");
        assert!(page.contains("<body><p>&lt;script&gt;</p></body>"), "{page}");
    }
}
