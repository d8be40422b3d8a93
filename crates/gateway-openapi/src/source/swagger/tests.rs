use proptest::prelude::*;

use super::*;

fn converted(document: &str) -> String {
    let document = RawObject::parse(document.to_owned()).unwrap();
    assert!(is_swagger(&document));
    to_openapi(&document, "test").unwrap().as_str().to_owned()
}

/// What `GET /x` becomes in a document that has `more` besides.
#[track_caller]
fn check_operation(more: &str, operation: &str, expected: &str) {
    let text = converted(&format!(r##"{{"swagger":"2.0",{more}"paths":{{"/x":{{"get":{operation}}}}}}}"##));
    let document = RawObject::parse(text).unwrap();
    let item = document.get_object("paths").unwrap().get_object("/x").unwrap();
    assert_eq!(item.get("get").unwrap().as_str(), expected, "for {operation}");
}

#[track_caller]
fn check_parameter(parameter: &str, expected: &str) {
    let given = format!(r#"{{"parameters":[{parameter}]}}"#);
    check_operation("", &given, &format!(r#"{{"parameters":[{expected}]}}"#));
}

#[track_caller]
fn check_body(more: &str, rest: &str, expected: &str) {
    check_operation(
        more,
        &format!("{{{rest}}}"),
        &format!(r#"{{"parameters":[],"requestBody":{expected}}}"#),
    );
}

#[track_caller]
fn check_response(more: &str, rest: &str, response: &str, expected: &str) {
    let given = format!(r#"{{{rest}"responses":{{"200":{response}}}}}"#);
    check_operation(more, &given, &format!(r#"{{"responses":{{"200":{expected}}}}}"#));
}

#[test]
fn only_version_2_is_swagger() {
    let check = |text: &str, expected| {
        assert_eq!(is_swagger(&RawObject::parse(text.to_owned()).unwrap()), expected, "{text}");
    };
    check(r#"{"swagger":"2.0"}"#, true);
    check(r#"{"swagger":2.0}"#, true);
    check(r#"{"swaggerVersion":"1.2"}"#, false);
    check(r#"{"openapi":"3.0.0"}"#, false);
    check(r#"{"swagger":{"2.0":1}}"#, false);
}

#[test]
fn the_document_keeps_what_is_the_same_in_both() {
    let text = converted(
        r##"{"swagger":"2.0","info":{"title":"Shop","version":"1"},"host":"shop.example","basePath":"/v1",
            "schemes":["https","http"],"tags":[{"name":"a"}],"security":[{"key":[]}],"x-own":1,
            "definitions":{"Pet":{"properties":{"next":{"$ref":"#\/definitions\/Pet"},"$ref":{"type":"string"}}}},
            "parameters":{"limit":{"name":"limit","in":"query","type":"integer"},"b":{"name":"b","in":"body"}},
            "securityDefinitions":{"key":{"type":"apiKey","in":"header","name":"X-Key"}},"paths":{}}"##,
    );
    assert_eq!(
        text,
        r##"{"openapi":"3.0.3","info":{"title":"Shop","version":"1"},"tags":[{"name":"a"}],"security":[{"key":[]}],"x-own":1,"paths":{},"servers":[{"url":"https://shop.example/v1"}],"components":{"schemas":{"Pet":{"properties":{"next":{"$ref":"#/components/schemas/Pet"},"$ref":{"type":"string"}}}},"parameters":{"limit":{"name":"limit","in":"query","schema":{"type":"integer"}}},"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Key"}}}}"##
    );
}

#[test]
fn what_a_parameter_says_of_its_values_becomes_its_schema() {
    check_parameter(
        r#"{"name":"n","in":"query","description":"d","required":true,"type":"integer","format":"int64","maximum":9007199254740993,"exclusiveMaximum":true,"default":1.0,"x-a":1}"#,
        r#"{"name":"n","in":"query","description":"d","required":true,"x-a":1,"schema":{"type":"integer","format":"int64","maximum":9007199254740993,"exclusiveMaximum":true,"default":1.0}}"#,
    );
    check_parameter(
        r#"{"name":"n","in":"path","required":true,"type":"string","enum":["a"]}"#,
        r#"{"name":"n","in":"path","required":true,"schema":{"type":"string","enum":["a"]}}"#,
    );
    check_parameter(
        r##"{"name":"n","in":"query","schema":{"$ref":"#/definitions/N"}}"##,
        r##"{"name":"n","in":"query","schema":{"$ref":"#/components/schemas/N"}}"##,
    );
}

#[test]
fn collection_formats_become_styles() {
    for (location, format, style) in [
        ("query", "", r#","style":"form","explode":false"#),
        ("query", "csv", r#","style":"form","explode":false"#),
        ("query", "multi", r#","style":"form","explode":true"#),
        ("query", "ssv", r#","style":"spaceDelimited","explode":false"#),
        ("query", "pipes", r#","style":"pipeDelimited","explode":false"#),
        ("query", "tsv", r#","style":"tabDelimited","explode":false"#),
        ("path", "csv", ""),
        ("header", "", ""),
        ("header", "pipes", r#","style":"pipeDelimited","explode":false"#),
    ] {
        let format =
            if format.is_empty() { String::new() } else { format!(r#","collectionFormat":"{format}""#) };
        let array = r#""type":"array","items":{"type":"string"}"#;
        check_parameter(
            &format!(r#"{{"name":"n","in":"{location}",{array}{format}}}"#),
            &format!(r#"{{"name":"n","in":"{location}","schema":{{{array}}}{style}}}"#),
        );
    }
    check_parameter(
        r#"{"name":"n","in":"query","type":"string","collectionFormat":"multi"}"#,
        r#"{"name":"n","in":"query","schema":{"type":"string"}}"#,
    );
}

#[test]
fn a_body_has_the_media_types_that_are_consumed() {
    let body = r##""parameters":[{"name":"pet","in":"body","description":"d","required":true,"schema":{"$ref":"#/definitions/Pet"}}]"##;
    let media = r##"{"schema":{"$ref":"#/components/schemas/Pet"}}"##;
    let check = |more: &str, consumes: &str, types: &[&str]| {
        let content: Vec<_> = types.iter().map(|name| format!(r#""{name}":{media}"#)).collect();
        let expected =
            format!(r#"{{"description":"d","required":true,"content":{{{}}}}}"#, content.join(","));
        check_body(more, &format!("{consumes}{body}"), &expected);
    };
    check("", "", &["application/json"]);
    check("", r#""consumes":["*/*"],"#, &["application/json"]);
    check(r#""consumes":["text/xml"],"#, "", &["text/xml"]);
    check(
        r#""consumes":["text/xml"],"#,
        r#""consumes":["application/json","a/b","a/b"],"#,
        &["application/json", "a/b"],
    );
    check(r#""consumes":["text/xml"],"#, r#""consumes":[],"#, &["application/json"]);
}

#[test]
fn fields_of_a_form_become_an_object() {
    let name = r#"{"name":"name","in":"formData","description":"d","required":true,"type":"string"}"#;
    let tags = r#"{"name":"tags","in":"formData","type":"array","items":{"type":"string"},"collectionFormat":"multi"}"#;
    let file = r#"{"name":"file","in":"formData","type":"file"}"#;
    let media = r#"{"schema":{"type":"object","properties":{"name":{"type":"string","description":"d"},"tags":{"type":"array","items":{"type":"string"}}},"required":["name"]},"encoding":{"tags":{"style":"form","explode":true}}}"#;
    let check = |consumes: &str, types: &[&str]| {
        let content: Vec<_> = types.iter().map(|name| format!(r#""{name}":{media}"#)).collect();
        check_body(
            "",
            &format!(r#"{consumes}"parameters":[{name},{tags}]"#),
            &format!(r#"{{"required":true,"content":{{{}}}}}"#, content.join(",")),
        );
    };
    check("", &["application/x-www-form-urlencoded"]);
    check(r#""consumes":["application/json"],"#, &["application/x-www-form-urlencoded"]);
    check(r#""consumes":["multipart/form-data"],"#, &["multipart/form-data"]);
    check(
        r#""consumes":["multipart/form-data","application/x-www-form-urlencoded"],"#,
        &["application/x-www-form-urlencoded", "multipart/form-data"],
    );
    check_body(
        "",
        &format!(r#""consumes":["application/x-www-form-urlencoded"],"parameters":[{file}]"#),
        r#"{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"file":{"type":"string","format":"binary"}}}}}}"#,
    );
}

#[test]
fn references_to_parameters_are_followed_where_they_are_of_the_body() {
    let more = r##""parameters":{"limit":{"name":"limit","in":"query","type":"integer"},"a/b":{"name":"b","in":"body","schema":{"type":"array"}},"f":{"name":"f","in":"formData","type":"string"}},"##;
    check_operation(
        more,
        r##"{"parameters":[{"$ref":"#/parameters/limit"},{"$ref":"#/parameters/a~1b"},{"$ref":"#/parameters/absent"},{"$ref":"other.json#/parameters/x"}]}"##,
        r##"{"parameters":[{"$ref":"#/components/parameters/limit"},{"$ref":"#/components/parameters/absent"},{"$ref":"other.json#/parameters/x"}],"requestBody":{"content":{"application/json":{"schema":{"type":"array"}}}}}"##,
    );
    check_operation(
        more,
        r##"{"parameters":[{"$ref":"#/parameters/f"}]}"##,
        r#"{"parameters":[],"requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"f":{"type":"string"}}}}}}}"#,
    );
}

#[test]
fn the_body_of_a_path_is_that_of_its_operations_unless_they_have_their_own() {
    let text = converted(
        r#"{"swagger":"2.0","paths":{"/x":{"parameters":[{"name":"id","in":"query","type":"string"},{"name":"b","in":"body","schema":{"type":"array"}}],
            "put":{},"post":{"parameters":[{"name":"own","in":"body","schema":{"type":"object"}}]}}}}"#,
    );
    let document = RawObject::parse(text).unwrap();
    let item = document.get_object("paths").unwrap().get("/x").unwrap();
    let body = |kind: &str| {
        format!(r#""requestBody":{{"content":{{"application/json":{{"schema":{{"type":"{kind}"}}}}}}}}"#)
    };
    let (put, post) = (body("array"), body("object"));
    assert_eq!(
        item.as_str(),
        format!(
            r#"{{"put":{{{put}}},"post":{{"parameters":[],{post}}},"parameters":[{{"name":"id","in":"query","schema":{{"type":"string"}}}}]}}"#
        )
    );
}

#[test]
fn answers_have_the_media_types_that_are_produced() {
    let response = r##"{"description":"d","schema":{"$ref":"#/definitions/Pet"},"examples":{"application/json":{"a":1}}}"##;
    let schema = r##""schema":{"$ref":"#/components/schemas/Pet"}"##;
    let json = format!(r#""application/json":{{{schema},"example":{{"a":1}}}}"#);
    let xml = format!(r#""text/xml":{{{schema}}}"#);
    let expected = |content: &str| format!(r#"{{"description":"d","content":{{{content}}}}}"#);
    check_response("", "", response, &expected(&json));
    check_response(r#""produces":["text/xml"],"#, "", response, &expected(&xml));
    check_response(
        r#""produces":["text/xml"],"#,
        r#""produces":["application/json"],"#,
        response,
        &expected(&json),
    );
    check_response(
        "",
        r#""produces":["text/xml","application/json"],"#,
        response,
        &expected(&format!("{xml},{json}")),
    );
    check_response("", "", r#"{"description":"d"}"#, r#"{"description":"d"}"#);
    check_response(
        "",
        "",
        r#"{"schema":{"type":"file"}}"#,
        r#"{"content":{"application/octet-stream":{"schema":{"type":"string","format":"binary"}}}}"#,
    );
    check_response(
        "",
        "",
        r#"{"headers":{"X-Left":{"type":"integer","description":"d"}}}"#,
        r#"{"headers":{"X-Left":{"description":"d","schema":{"type":"integer"}}}}"#,
    );
    check_response(
        r#""responses":{"Ok":{"description":"d","schema":{"type":"string"}}},"#,
        r#""produces":["text/plain"],"#,
        r##"{"$ref":"#/responses/Ok"}"##,
        r#"{"description":"d","content":{"text/plain":{"schema":{"type":"string"}}}}"#,
    );
    check_response("", "", r##"{"$ref":"#/responses/No"}"##, r##"{"$ref":"#/components/responses/No"}"##);
}

#[track_caller]
fn check_scheme(scheme: &str, expected: &str) {
    let text = converted(&format!(r#"{{"swagger":"2.0","securityDefinitions":{{"s":{scheme}}}}}"#));
    let components = RawObject::parse(text).unwrap().get_object("components").unwrap();
    let schemes = components.get_object("securitySchemes").unwrap();
    assert_eq!(schemes.get("s").unwrap().as_str(), expected);
}

#[test]
fn ways_to_say_who_asks_are_translated() {
    check_scheme(
        r#"{"type":"basic","description":"d"}"#,
        r#"{"type":"http","scheme":"basic","description":"d"}"#,
    );
    check_scheme(
        r#"{"type":"apiKey","name":"k","in":"query","x-a":1}"#,
        r#"{"type":"apiKey","name":"k","in":"query","x-a":1}"#,
    );
    for (flow, name) in [
        ("application", "clientCredentials"),
        ("accessCode", "authorizationCode"),
        ("implicit", "implicit"),
        ("password", "password"),
    ] {
        check_scheme(
            &format!(
                r#"{{"type":"oauth2","flow":"{flow}","tokenUrl":"https://t.example","scopes":{{"a":"b"}}}}"#
            ),
            &format!(
                r#"{{"type":"oauth2","flows":{{"{name}":{{"tokenUrl":"https://t.example","scopes":{{"a":"b"}}}}}}}}"#
            ),
        );
    }
    check_scheme("1", "1");
}

#[test]
fn nullable_has_a_name_of_its_own_in_openapi() {
    let text =
        converted(r#"{"swagger":"2.0","definitions":{"A":{"x-nullable" : true,"d":{"x-nullable":false}}}}"#);
    assert!(text.contains(r#"{"nullable" : true,"d":{"x-nullable":false}}"#), "{text}");
}

#[test]
fn what_is_not_understood_is_passed_on() {
    for operation in ["1", "[]", "null", r#"{"a":1,"a":2}"#] {
        check_operation("", operation, operation);
    }
    check_operation("", r#"{"parameters":{"a":1}}"#, r#"{"parameters":{"a":1}}"#);
    check_parameter("1", "1");
    check_parameter(r#"{"name":"n","in":"nowhere"}"#, r#"{"name":"n","in":"nowhere","schema":{}}"#);
    check_operation("", r#"{"responses":[1]}"#, r#"{"responses":[1]}"#);
    check_response("", "", "null", "null");
    assert!(converted(r#"{"swagger":"2.0","paths":[],"definitions":7}"#).contains(r#""paths":[]"#));
}

#[test]
fn what_gets_too_deep_is_an_error_that_names_the_document() {
    let deep = "[".repeat(122) + &"]".repeat(122);
    let text = format!(
        r#"{{"swagger":"2.0","paths":{{"/x":{{"get":{{"parameters":[{{"name":"b","in":"body","schema":{deep}}}]}}}}}}}}"#
    );
    let error = to_openapi(&RawObject::parse(text).unwrap(), "deep.json").unwrap_err().to_string();
    assert!(
        error.starts_with("deep.json is not a description of an API that can be used: as OpenAPI 3"),
        "{error}"
    );
}

const VALUES: &str = r##"true 1 "body" "formData" "query" "file" "array" "string" "multi" "tsv" "#/definitions/A" "#/parameters/A" "#/responses/A" "a\"b\\\\" "application/json" "oauth2" "basic""##;

const NAMES: &str = "paths /a get post parameters responses 200 schema $ref in name type items consumes produces collectionFormat definitions A securityDefinitions flow scopes headers examples required description x-nullable host basePath schemes";

/// Words of Swagger in places where they may or may not belong.
fn swagger_like() -> impl Strategy<Value = String> {
    let words = |text: &'static str| prop::sample::select(text.split(' ').collect::<Vec<_>>());
    words(VALUES).prop_map(str::to_owned).prop_recursive(7, 96, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::btree_map(words(NAMES), inner, 0..8).prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_document_holds_it_becomes_a_document(
        paths in swagger_like(), parameters in swagger_like(), responses in swagger_like(), rest in swagger_like(),
    ) {
        let text = format!(
            r#"{{"swagger":"2.0","paths":{{"/a":{{"get":{{"parameters":[{paths},{parameters}],"responses":{responses}}},"post":{paths}}}}},"parameters":{{"A":{parameters}}},"responses":{{"A":{responses}}},"securityDefinitions":{{"A":{rest}}},"consumes":{rest},"definitions":{rest}}}"#
        );
        let document = RawObject::parse(text).unwrap();
        let converted = to_openapi(&document, "test").unwrap();
        let converted = RawObject::try_from(converted).unwrap();
        prop_assert_eq!(converted.get_text("openapi").unwrap(), "3.0.3");
        prop_assert!(!converted.raw().mentions(b"\"$ref\":\"#/definitions/"));
        prop_assert!(!is_swagger(&converted));
    }

    #[test]
    fn a_document_without_references_is_rewritten_to_itself(text in "[a-c\\[\\]{}:, 0-9]{0,24}", word in "[a-z #/\\\\\"é]{0,12}") {
        let json = format!("{text}{}{text}", RawJson::string(&word));
        prop_assert_eq!(refs::rewritten(json.as_bytes()), json.as_bytes());
    }
}
