use std::collections::BTreeMap;

use gateway_domain::{RawJson, RawObject};
use percent_encoding::percent_decode_str;
use proptest::prelude::*;

use super::{BaseUrl, Extras, build, object, operation, param, request, styled};
use crate::{
    engine::{Inputs, Reserved, arbitrary, request::path::Template},
    ir::{Location, Param, ParamFormat, Style},
};

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().unwrap().into_owned()
}

/// Text with much in it that means something in a URL.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,20}", "[./\\\\%2ef;:@?#&=+ ,|\\[\\]a\r\n\t]{0,12}", ".{0,8}"]
}

proptest! {
    #[test]
    fn a_string_in_a_segment_arrives_or_is_refused(text in text(), beside: bool) {
        let template = if beside { "/a/x{id}y/b" } else { "/a/{id}/b" };
        let operation = operation(template, vec![Param::new("id", Location::Path)]);
        let arguments = object(&[("id", RawJson::string(&text).as_str())]);
        if let Ok(request) = request(&operation, &arguments, &Extras::default()) {
            let segments: Vec<_> = request.uri().path().split('/').collect();
            prop_assert_eq!(segments.len(), 5);
            let arrived = decoded(segments[3]);
            prop_assert_eq!(arrived, if beside { format!("x{text}y") } else { text });
        }
    }

    #[test]
    fn plain_words_are_never_refused(text in "[a-zA-Z0-9 äöü_~-]{1,20}") {
        let operation = operation("/{id}", vec![Param::new("id", Location::Path)]);
        prop_assert!(request(&operation, &object(&[("id", RawJson::string(&text).as_str())]), &Extras::default()).is_ok());
    }

    #[test]
    fn strings_in_the_query_arrive(texts in prop::collection::vec(text(), 1..4), allow_reserved: bool, explode: bool) {
        let format = ParamFormat::Styled { style: Style::Form, explode, allow_reserved };
        let operation = operation("/", vec![param("a[b]", Location::Query, format)]);
        let list = RawJson::array(texts.iter().map(|text| RawJson::string(text)));
        let request = request(&operation, &object(&[("a[b]", list.as_str())]), &Extras::default()).unwrap();
        let pairs = request.uri().query().unwrap().split('&').map(|pair| pair.split_once('=').unwrap());
        let values: Vec<&str> = pairs.map(|(name, value)| { assert_eq!(name, "a%5Bb%5D"); value }).collect();
        let values: Vec<_> = if explode { values } else { values[0].split(',').collect() };
        prop_assert_eq!(values.into_iter().map(decoded).collect::<Vec<_>>(), texts);
    }

    #[test]
    fn cookies_in_form_style_arrive(text in text()) {
        let operation = operation("/", vec![param("a", Location::Cookie, styled(Style::Form, false))]);
        let request = request(&operation, &object(&[("a", RawJson::string(&text).as_str())]), &Extras::default()).unwrap();
        let line = request.headers()["cookie"].to_str().unwrap();
        prop_assert!(!line.contains([';', ' ', '"', ',']));
        prop_assert_eq!(decoded(line.strip_prefix("a=").unwrap()), text);
    }

    /// Whatever the operation and the arguments are, nothing panics, and what is built goes where the operation says.
    #[test]
    fn a_request_goes_below_the_base_in_as_many_segments_as_the_operation_has(
        operation in arbitrary::operation(),
        values in prop::collection::vec(arbitrary::json(), 12),
        others in prop::collection::btree_map(arbitrary::name(), arbitrary::json(), 0..3),
        prefix in "(/[a-c]{1,3}){0,2}",
    ) {
        let inputs = Inputs::new(&operation, &Reserved::default(), &BTreeMap::new(), 32 * 1024);
        let names = inputs.schema().get_object("properties").unwrap();
        let mut members: BTreeMap<String, RawJson> = others;
        members.extend(std::iter::zip(names.iter().map(|(name, _)| name.into_owned()), values));
        let members: Vec<_> = members.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let arguments: RawObject = object(&members);
        let _verdict = inputs.check(&arguments);
        let base = BaseUrl::parse(&format!("https://api.test:8443{prefix}")).unwrap();
        if let Ok(request) = build(&base, &operation, &inputs, &arguments, &Extras::default(), &[]) {
            let uri = request.uri();
            prop_assert_eq!(uri.scheme_str(), Some("https"));
            prop_assert_eq!(uri.authority().unwrap().as_str(), "api.test:8443");
            let below = uri.path().strip_prefix(&prefix).unwrap();
            prop_assert!(below.starts_with('/'));
            prop_assert_eq!(below.split('/').count() - 1, Template::read(&operation.path).count());
            for segment in below.split('/') {
                let twice: Vec<u8> = percent_decode_str(&segment.replace("%25", "%")).collect();
                prop_assert!(!matches!(&twice[..], b"." | b".."));
            }
            for name in request.headers().keys() {
                let several = request.headers().get_all(name).iter().count();
                prop_assert_eq!(several, 1, "{}", name);
            }
        }
    }
}
