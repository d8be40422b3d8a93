use super::{content, param, sent, styled};
use crate::ir::{Location, Param, ParamFormat, Style};

const EMPTY: &str = r#""""#;
const TEXT: &str = r#""blue""#;
const LIST: &str = r#"["blue","black","brown"]"#;
const MEMBERS: &str = r#"{"R":100,"G":200,"B":150}"#;
const REFUSED: &str = "refused";

#[track_caller]
fn check(location: Location, format: &ParamFormat, value: &str, expected: &str) {
    let sent = sent(param("color", location, format.clone()), value);
    let sent = if sent.starts_with(REFUSED) { REFUSED } else { &sent };
    assert_eq!(sent, expected, "{location:?} {format:?} {value}");
}

/// Left out where it may be; where it is required, nothing is sent at all.
#[track_caller]
fn check_undefined(location: Location, format: ParamFormat, value: &str) {
    check(location, &format, value, "nothing");
    let required = Param { required: true, ..param("color", location, format) };
    let refused = "refused: invalid arguments: `color` must not be null or empty: it is required";
    assert_eq!(sent(required, value), refused, "{location:?} {value}");
}

/// The examples of OpenAPI 3.1.1 §4.8.12.6: an empty string, a string, an array, an object. What a URI may not hold is
/// encoded here, and what would leave a segment of a path empty is refused.
#[test]
fn the_examples_of_openapi() {
    use Location::{Cookie, Header, Path, Query};
    use Style::{DeepObject, Form, Label, Matrix, PipeDelimited, Simple, SpaceDelimited};
    #[rustfmt::skip]
    let rows = [
        (Path, Matrix, false, [";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"]),
        (Path, Matrix, true, [";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"]),
        (Path, Label, false, [REFUSED, ".blue", ".blue,black,brown", ".R,100,G,200,B,150"]),
        (Path, Label, true, [REFUSED, ".blue", ".blue.black.brown", ".R=100.G=200.B=150"]),
        (Path, Simple, false, [REFUSED, "blue", "blue,black,brown", "R,100,G,200,B,150"]),
        (Path, Simple, true, [REFUSED, "blue", "blue,black,brown", "R=100,G=200,B=150"]),
        (Header, Simple, false, ["", "blue", "blue,black,brown", "R,100,G,200,B,150"]),
        (Header, Simple, true, ["", "blue", "blue,black,brown", "R=100,G=200,B=150"]),
        (Query, Form, false, ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"]),
        // Members are sorted by name (E-19).
        (Query, Form, true, ["color=", "color=blue", "color=blue&color=black&color=brown", "B=150&G=200&R=100"]),
        (Query, SpaceDelimited, false, ["color=", "color=blue", "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"]),
        (Query, SpaceDelimited, true, ["color=", "color=blue", "color=blue&color=black&color=brown", "B=150&G=200&R=100"]),
        (Query, PipeDelimited, false, ["color=", "color=blue", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"]),
        (Query, PipeDelimited, true, ["color=", "color=blue", "color=blue&color=black&color=brown", "B=150&G=200&R=100"]),
        (Query, DeepObject, true, ["color=", "color=blue", "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown", "color%5BB%5D=150&color%5BG%5D=200&color%5BR%5D=100"]),
        (Query, DeepObject, false, ["color=", "color=blue", "color%5B0%5D=blue&color%5B1%5D=black&color%5B2%5D=brown", "color%5BB%5D=150&color%5BG%5D=200&color%5BR%5D=100"]),
        (Cookie, Form, false, ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"]),
        (Cookie, Form, true, ["color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"]),
        (Cookie, Style::Cookie, false, ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"]),
        (Cookie, Style::Cookie, true, ["color=", "color=blue", "color=blue; color=black; color=brown", "R=100; G=200; B=150"]),
    ];
    for (location, style, explode, expected) in rows {
        for (value, expected) in std::iter::zip([EMPTY, TEXT, LIST, MEMBERS], expected) {
            check(location, &styled(style, explode), value, expected);
        }
    }
}

/// RFC 6570 §2.3 and §3.2.1: `null` and what holds nothing are undefined.
#[test]
fn what_is_undefined_is_not_sent() {
    use Style::{Cookie, DeepObject, Form, Label, Matrix, PipeDelimited, Simple, SpaceDelimited};
    for value in ["null", "[]", "{}", "[null]", r#"{"a":null}"#] {
        for explode in [false, true] {
            for style in [Simple, Label, Matrix] {
                check(Location::Path, &styled(style, explode), value, REFUSED);
            }
            for style in [Form, SpaceDelimited, PipeDelimited, DeepObject] {
                check_undefined(Location::Query, styled(style, explode), value);
            }
            check_undefined(Location::Header, styled(Simple, explode), value);
            for style in [Form, Cookie] {
                check_undefined(Location::Cookie, styled(style, explode), value);
            }
        }
    }
    check(Location::Query, &styled(Form, true), r#"["a",null,"b"]"#, "color=a&color=b");
    check_undefined(Location::Query, content("text/plain"), "null");
    check_undefined(Location::Header, content("text/plain"), "null");
    check_undefined(Location::QueryString, content("application/x-www-form-urlencoded"), "{}");
}

#[test]
fn numbers_are_the_text_that_was_given() {
    let numbers =
        ["9007199254740993", "123456789012345678901234567890", "1e6", "1E+400", "-0", "1.0", "0.10"];
    for number in numbers {
        let encoded = number.replace('+', "%2B");
        check(Location::Path, &styled(Style::Simple, false), number, &encoded);
        check(Location::Query, &styled(Style::Form, true), number, &format!("color={encoded}"));
        check(Location::Header, &styled(Style::Simple, false), number, number);
        check(Location::Cookie, &styled(Style::Cookie, false), number, &format!("color={number}"));
    }
    check(Location::Path, &styled(Style::Simple, false), "true", "true");
}

#[test]
fn strings_are_decoded_and_all_but_unreserved_characters_encoded() {
    let rows = [
        (r#""a\u002fb\/c""#, "a%2Fb%2Fc"),
        (r#""-._~aZ9""#, "-._~aZ9"),
        (r#""!$&'()*+,;=:@/?#[]""#, "%21%24%26%27%28%29%2A%2B%2C%3B%3D%3A%40%2F%3F%23%5B%5D"),
        (r#""100%25""#, "100%2525"),
        (r#""\"<> \\^`{|}""#, "%22%3C%3E%20%5C%5E%60%7B%7C%7D"),
        (r#""ü€😀∕／．""#, "%C3%BC%E2%82%AC%F0%9F%98%80%E2%88%95%EF%BC%8F%EF%BC%8E"),
    ];
    for (value, expected) in rows {
        check(Location::Path, &styled(Style::Simple, false), value, expected);
        check(Location::Query, &styled(Style::Form, true), value, &format!("color={expected}"));
        check(Location::Cookie, &styled(Style::Form, false), value, &format!("color={expected}"));
    }
}

#[test]
fn reserved_characters_are_left_where_that_is_asked_for_and_does_no_harm() {
    let format = |explode| ParamFormat::Styled { style: Style::Form, explode, allow_reserved: true };
    let rows = [
        (true, r#""a/b?c:d@e!f$g'h(i)j*k,l;m=n""#, "color=a/b?c:d@e!f$g'h(i)j*k,l%3Bm=n"),
        (true, r#""a&b#c[d]e+f%2f ""#, "color=a%26b%23c%5Bd%5De%2Bf%252f%20"),
        (false, r#"["a,b","/c"]"#, "color=a%2Cb,/c"),
    ];
    for (explode, value, expected) in rows {
        check(Location::Query, &format(explode), value, expected);
    }
}

#[test]
fn what_a_style_cannot_tell_apart_is_refused() {
    use Style::{Cookie, DeepObject, Label, PipeDelimited, Simple, SpaceDelimited};
    let rows = [
        (Location::Query, SpaceDelimited, false, r#"["a b"]"#),
        (Location::Query, PipeDelimited, false, r#"{"a":"b|c"}"#),
        (Location::Query, DeepObject, true, r#"{"a][b":"c"}"#),
        (Location::Path, Label, true, r#"["1.5"]"#),
        (Location::Header, Simple, false, r#"["a,b"]"#),
        (Location::Header, Simple, true, r#"{"a=b":"c"}"#),
        (Location::Cookie, Cookie, true, r#"["a b"]"#),
        (Location::Cookie, Cookie, false, r#""a;b""#),
        (Location::Cookie, Cookie, false, r#""ü""#),
        (Location::Query, Simple, true, r#"{"a":1,"\u0061":2}"#),
    ];
    for (location, style, explode, value) in rows {
        check(location, &styled(style, explode), value, REFUSED);
    }
    check(Location::Query, &styled(PipeDelimited, true), r#"["a|b"]"#, "color=a%7Cb");
}

#[test]
fn what_is_nested_goes_on_in_brackets_or_is_json() {
    let nested = r#"{"a":{"b":[1,{"c":"d e"}]},"f":null}"#;
    check(
        Location::Query,
        &styled(Style::DeepObject, true),
        nested,
        "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=d%20e",
    );
    check(Location::Query, &styled(Style::Form, true), r#"{"a":{"b":1}}"#, "a=%7B%22b%22%3A1%7D");
    check(Location::Path, &styled(Style::Simple, false), "[[1],2]", "%5B1%5D,2");
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    check(Location::Query, &styled(Style::DeepObject, true), &deep, REFUSED);
}

#[test]
fn content_is_a_document() {
    let json = r#"{"a": [1.0, "b"]}"#;
    let encoded = "%7B%22a%22%3A%20%5B1.0%2C%20%22b%22%5D%7D";
    check(Location::Query, &content("application/json"), json, &format!("color={encoded}"));
    check(Location::Cookie, &content("application/json"), json, &format!("color={encoded}"));
    check(Location::Path, &content("application/json"), json, encoded);
    check(Location::Header, &content("application/json"), json, json);
    check(Location::Query, &content("text/plain"), r#""a b""#, "color=a%20b");
    check(
        Location::Query,
        &content("application/x-www-form-urlencoded"),
        r#"{"a":1,"b":"c d"}"#,
        "color=a%3D1%26b%3Dc%2520d",
    );
}

#[test]
fn a_parameter_can_be_the_whole_query() {
    let form = content("application/x-www-form-urlencoded");
    check(
        Location::QueryString,
        &form,
        r#"{"b":["x","y"],"a":"1 2","c":{"d":1}}"#,
        "a=1%202&b=x&b=y&c=%7B%22d%22%3A1%7D",
    );
    check(Location::QueryString, &form, r#""a=1&b=2""#, REFUSED);
    check(Location::QueryString, &content("application/json"), r#"{"a":1}"#, "%7B%22a%22%3A1%7D");
}
