use crate::{
    ir::{BodyFormat, Field, Location, Operation, ParamFormat, Requirement, SecurityScheme, Style},
    source::openapi::tests::{document, listing, only, reason},
};

/// An operation at `/p/{id}` with these members.
fn at_id(members: &str) -> Operation {
    only(&document("3.0.3", &format!(r#""/p/{{id}}":{{"get":{{{members}}}}}"#), ""))
}

fn params(operation: &Operation) -> Vec<String> {
    let shown = |param: &crate::ir::Param| {
        let schema = param.schema.as_ref().map_or("-", |schema| schema.as_str());
        let sign = if param.required { "!" } else { "" };
        format!("{}:{}{sign}:{schema}", param.location.as_str(), param.name)
    };
    operation.params.iter().map(shown).collect()
}

#[test]
fn ids_are_made_of_what_the_document_says_or_of_the_path() {
    for (path, member, id) in [
        ("/a", r#""operationId":"getPet""#, "getPet"),
        ("/a", r#""operationId":"pets/list-all v2.é""#, "pets_list_all_v2__"),
        ("/a", r#""operationId":"获取""#, "get_a"),
        ("/a", r#""operationId":7"#, "get_a"),
        ("/users/{id}/posts.json", "", "get_users_id_posts_json"),
        ("/a//_b/", "", "get_a__b"),
        ("/", "", "get"),
        ("/files?beta=true", "", "get_files_beta_true"),
    ] {
        let operation = only(&document("3.0.3", &format!(r#""{path}":{{"get":{{{member}}}}}"#), ""));
        assert_eq!(operation.id, id, "{path} {member}");
    }
}

#[test]
fn texts_are_those_of_the_operation_or_else_of_the_path() {
    let item = r#""/a":{"summary":"S","description":"D","get":{"summary":" own ","tags":["t",1,"u"],"deprecated":true},"put":{}}"#;
    let listing = listing(&document("3.0.3", item, ""));
    let [get, put] = listing.operations.as_slice() else { panic!() };
    assert_eq!((get.summary.as_deref(), get.description.as_deref()), (Some("own"), Some("D")));
    assert_eq!(get.tags, ["t", "u"]);
    assert!(get.deprecated && !put.deprecated);
    assert_eq!(put.summary.as_deref(), Some("S"));
}

#[test]
fn parameters_of_the_operation_take_the_place_of_those_of_the_path() {
    let paths = r##""/p/{id}":{
        "parameters":[
            {"name":"id","in":"path","required":true,"schema":{"type":"integer"}},
            {"name":"q","in":"query","schema":{"type":"integer"}},
            {"name":"X-A","in":"header","schema":{"type":"integer"}}],
        "get":{"parameters":[
            {"$ref":"#/components/parameters/Q"},
            {"name":"q","in":"header"},
            {"name":"x-a","in":"header","schema":{"type":"boolean"}},
            {"name":"c","in":"cookie","required":true}]}}"##;
    let components = r#""parameters":{"Q":{"name":"q","in":"query","description":"D","required":true,"schema":{"type":"string"}}}"#;
    let operation = only(&document("3.0.3", paths, components));
    assert_eq!(
        params(&operation),
        [
            r#"path:id!:{"type":"integer"}"#,
            r#"query:q!:{"type":"string"}"#,
            r#"header:x-a:{"type":"boolean"}"#,
            "header:q:-",
            "cookie:c!:-",
        ]
    );
    assert_eq!(operation.params[1].description.as_deref(), Some("D"));
}

#[test]
fn the_path_says_which_parameters_it_has() {
    assert_eq!(params(&at_id("")), [r#"path:id!:{"type":"string"}"#]);
    let declared = r#""parameters":[{"name":"id","in":"path","required":false},{"name":"no","in":"path"}]"#;
    assert_eq!(params(&at_id(declared)), ["path:id!:-"]);
    let several = only(&document("3.0.3", r#""/a/{x}.{y}/b":{"get":{}}"#, ""));
    assert_eq!(several.params.len(), 2);
    let fixed = only(&document(
        "3.0.3",
        r#""/a?beta=tr%75e&x#frag":{"get":{"parameters":[{"name":"x","in":"query"}]}}"#,
        "",
    ));
    assert_eq!(fixed.path, "/a");
    assert_eq!(params(&fixed), ["query:x:-", r#"query:beta!:{"type":"string","const":"true"}"#]);
    for (path, expected) in [
        ("/a/{+x}", "is an expression"),
        ("/a/{x*}", "is an expression"),
        ("/a/{x}/{x}", "stands twice"),
        ("/a/}{", "do not match"),
        ("/a/{}", "do not match"),
        ("/a/{x/y}", "do not match"),
        ("/a?q={q}", "holds placeholders"),
        ("/a\\u0000", "control character"),
        ("/../x", "is . or .."),
        ("/a/..", "is . or .."),
        ("/a/./b?x", "is . or .."),
        ("/%2e%2E/x", "is . or .."),
        ("/%252e./x", "is . or .."),
        ("/..;x=1/a", "is . or .."),
        ("/a%2f../b", "is . or .."),
        ("//host/x", "an empty segment"),
    ] {
        let found = reason(&document("3.0.3", &format!(r#""{path}":{{"get":{{}}}}"#), ""));
        assert!(found.contains(expected), "{path}: {found}");
    }
}

#[test]
fn headers_that_are_set_by_other_means_are_no_parameters() {
    let operation = at_id(
        r#""parameters":[{"name":"accept","in":"header"},{"name":"Content-Type","in":"header"},{"name":"AUTHORIZATION","in":"header"},{"name":"accept","in":"query"}]"#,
    );
    assert_eq!(params(&operation), ["query:accept:-", r#"path:id!:{"type":"string"}"#]);
}

#[track_caller]
fn check_format(members: &str, expected: (Style, bool, bool)) {
    let operation = at_id(&format!(r#""parameters":[{{"name":"id",{members}}}]"#));
    let (style, explode, allow_reserved) = expected;
    assert_eq!(
        operation.params[0].format,
        ParamFormat::Styled { style, explode, allow_reserved },
        "{members}"
    );
}

#[test]
fn styles_have_defaults() {
    check_format(r#""in":"path""#, (Style::Simple, false, false));
    check_format(r#""in":"header""#, (Style::Simple, false, false));
    check_format(r#""in":"query""#, (Style::Form, true, false));
    check_format(r#""in":"cookie""#, (Style::Form, true, false));
    check_format(r#""in":"cookie","style":"cookie""#, (Style::Cookie, true, false));
    check_format(r#""in":"query","style":"form","explode":false"#, (Style::Form, false, false));
    check_format(r#""in":"query","style":"deepObject","explode":true"#, (Style::DeepObject, true, false));
    check_format(r#""in":"query","style":"pipeDelimited""#, (Style::PipeDelimited, false, false));
    check_format(r#""in":"query","allowReserved":true"#, (Style::Form, true, true));
    check_format(r#""in":"path","allowReserved":true"#, (Style::Simple, false, false));
    check_format(r#""in":"path","style":"matrix","explode":true"#, (Style::Matrix, true, false));
    check_format(r#""in":"path","style":"label""#, (Style::Label, false, false));
    check_format(r#""in":"query","content":{"text/plain":{}}"#, (Style::Form, true, false));
}

#[test]
fn parameters_that_cannot_be_written_skip_the_operation() {
    for (members, expected) in [
        (
            r#""name":"a","in":"query","style":"matrix""#,
            r#"the parameter "a": the style "matrix" is none for a parameter in query"#,
        ),
        (
            r#""name":"a","in":"path","style":"form""#,
            r#"the parameter "a": the style "form" is none for a parameter in path"#,
        ),
        (
            r#""name":"a","in":"query","style":"other""#,
            r#"the parameter "a": the style "other" is none for a parameter in query"#,
        ),
        (r#""name":"a","in":"body""#, r#"the parameter "a": there is no place "body" to send it"#),
        (r#""name":"a""#, r#"the parameter "a": it does not say where it is sent"#),
        (r#""in":"query""#, "a parameter has no name"),
        (
            r##""$ref":"#/components/parameters/no""##,
            r##"a parameter: the reference "#/components/parameters/no" leads to nothing"##,
        ),
        (
            r##""$ref":"#/paths/~1a/get/parameters/0""##,
            r##"a parameter: the reference "#/paths/~1a/get/parameters/0" leads in a circle or through too many others"##,
        ),
        (
            r#""name":"a","in":"query","content":{"image/png":{}}"#,
            r#"the parameter "a": nothing is known of how to write it as "image/png""#,
        ),
        (
            r#""name":"a","in":"query","content":{"a/json":{},"b/json":{}}"#,
            r#"the parameter "a": it has more than one media type"#,
        ),
        (
            r#""name":"a","in":"querystring""#,
            r#"the parameter "a": it is the whole query, and has no content"#,
        ),
        (
            r##""name":"a","in":"query","schema":{"items":{"$ref":"#/no"}}"##,
            r##"the parameter "a": the reference "#/no" leads to nothing"##,
        ),
        (
            r##""name":"a","in":"query","schema":{"$ref":"#/components/schemas/Bad"}"##,
            r##"the parameter "a": the reference "#/no" leads to nothing"##,
        ),
    ] {
        let paths = format!(r#""/a":{{"get":{{"parameters":[{{{members}}}]}}}}"#);
        let components = r##""schemas":{"Bad":{"items":{"$ref":"#/components/schemas/Worse"}},"Worse":{"items":[{"$ref":"#/no"}]}}"##;
        assert_eq!(reason(&document("3.2.0", &paths, components)), expected);
    }
}

#[test]
fn members_of_forms_that_cannot_be_written_skip_the_operation() {
    for style in ["tabDelimited", "simple"] {
        let content = format!(
            r#""application/x-www-form-urlencoded":{{"schema":{{"properties":{{"a":{{}}}}}},"encoding":{{"a":{{"style":"{style}"}}}}}}"#
        );
        let paths = format!(r#""/a":{{"post":{{"requestBody":{{"content":{{{content}}}}}}}}}"#);
        let expected =
            format!(r#"the body: its member "a": the style "{style}" is none for a member of a form"#);
        assert_eq!(reason(&document("3.0.3", &paths, "")), expected);
    }
    let swagger = r#"{"swagger":"2.0","info":{"title":"T"},"paths":{"/a":{"post":{"parameters":[{"name":"a","in":"formData","type":"array","items":{"type":"string"},"collectionFormat":"tsv"}]}}}}"#;
    assert!(reason(swagger).contains("tabDelimited"));
}

#[test]
fn content_takes_the_place_of_a_style() {
    let operation = at_id(
        r#""parameters":[{"name":"f","in":"query","content":{"application/json":{"schema":{"type":"object"}}}}]"#,
    );
    assert_eq!(operation.params[0].format, ParamFormat::Content { media_type: "application/json".into() });
    assert_eq!(params(&operation)[0], r#"query:f:{"type":"object"}"#);
    let whole = r#""/a":{"get":{"parameters":[{"name":"q","in":"querystring","content":{"application/x-www-form-urlencoded":{}}}]}}"#;
    let operation = only(&document("3.2.0", whole, ""));
    assert_eq!(operation.params[0].location, Location::QueryString);
    let both = whole.replace("[{", r#"[{"name":"r","in":"query"},{"#);
    assert!(reason(&document("3.2.0", &both, "")).contains("whole query"));
}

#[test]
fn a_parameter_that_may_be_empty_accepts_the_empty_text() {
    let operation = at_id(
        r#""parameters":[{"name":"a","in":"query","allowEmptyValue":true,"schema":{"type":"boolean"}}]"#,
    );
    assert_eq!(params(&operation)[0], r#"query:a:{"anyOf":[{"type":"boolean"},{"const":""}]}"#);
}

fn with_body(version: &str, body: &str) -> Operation {
    let components = r##""schemas":{"Form":{"type":"object","properties":{"f":{"type":"string","format":"binary"},"t":{"type":"string"}}}},"mediaTypes":{"M":{"schema":{"type":"integer"}}}"##;
    only(&document(version, &format!(r#""/a":{{"post":{{"requestBody":{body}}}}}"#), components))
}

#[track_caller]
fn check_body(content: &str, media_type: &str, format: &BodyFormat, schema: Option<&str>) {
    let body = with_body("3.2.0", &format!(r#"{{"content":{{{content}}}}}"#)).body.unwrap();
    assert_eq!(body.media_type, media_type, "{content}");
    assert_eq!(body.format, *format, "{content}");
    assert_eq!(body.schema.as_ref().map(|schema| schema.as_str()), schema, "{content}");
}

#[test]
fn one_media_type_is_chosen() {
    let object = r#"{"schema":{"type":"object"}}"#;
    for (content, media_type) in [
        (vec!["application/xml", "application/json"], "application/json"),
        (vec!["text/plain", "application/merge-patch+json"], "application/merge-patch+json"),
        (vec!["application/vnd.a+json", "application/vnd.b+json"], "application/vnd.a+json"),
        (
            vec!["multipart/form-data", "application/x-www-form-urlencoded"],
            "application/x-www-form-urlencoded",
        ),
        (vec!["application/octet-stream", "text/csv"], "text/csv"),
        (vec!["application/json; charset=utf-8"], "application/json; charset=utf-8"),
        (vec!["*/*"], "application/json"),
        (vec!["image/*"], "application/octet-stream"),
        (vec!["text/*"], "text/plain"),
    ] {
        let offers: Vec<_> = content.iter().map(|offer| format!(r#""{offer}":{object}"#)).collect();
        let body = with_body("3.0.3", &format!(r#"{{"content":{{{}}}}}"#, offers.join(","))).body.unwrap();
        assert_eq!(body.media_type, media_type, "{content:?}");
    }
    let file = r##"{"schema":{"$ref":"#/components/schemas/Form"}}"##;
    let both = format!(
        r#"{{"content":{{"application/x-www-form-urlencoded":{file},"multipart/form-data":{file}}}}}"#
    );
    assert_eq!(with_body("3.0.3", &both).body.unwrap().media_type, "multipart/form-data");
}

#[test]
fn bodies_are_written_as_their_media_type_says() {
    check_body(
        r#""application/json":{"schema":{"type":"integer"}}"#,
        "application/json",
        &BodyFormat::Json,
        Some(r#"{"type":"integer"}"#),
    );
    check_body(r#""application/json":{}"#, "application/json", &BodyFormat::Json, None);
    check_body(
        r##""application/json":{"$ref":"#/components/mediaTypes/M"}"##,
        "application/json",
        &BodyFormat::Json,
        Some(r#"{"type":"integer"}"#),
    );
    check_body(
        r#""application/xml":{"schema":{"type":"object"}}"#,
        "application/xml",
        &BodyFormat::Text,
        Some(r#"{"type":"string","contentMediaType":"application/xml"}"#),
    );
    check_body(
        r#""text/plain":{"schema":{"type":"string","maxLength":3}}"#,
        "text/plain",
        &BodyFormat::Text,
        Some(r#"{"type":"string","maxLength":3}"#),
    );
    check_body(
        r#""image/png":{}"#,
        "image/png",
        &BodyFormat::Binary,
        Some(r#"{"type":"string","contentEncoding":"base64","contentMediaType":"image/png"}"#),
    );
    check_body(
        r#""*/*":{"schema":{"type":"string","format":"binary"}}"#,
        "application/octet-stream",
        &BodyFormat::Binary,
        Some(r#"{"type":"string","contentEncoding":"base64"}"#),
    );
    check_body(
        r#""application/vnd.odd":{"schema":{"type":"string"}}"#,
        "application/vnd.odd",
        &BodyFormat::Text,
        Some(r#"{"type":"string"}"#),
    );
}

#[test]
fn members_of_forms_have_ways_of_their_own() {
    let field = |name: &str| Field { name: name.into(), media_type: None, is_file: false, format: None };
    let content = r#""multipart/form-data":{"schema":{"type":"object","properties":{
        "one":{"type":"string","format":"binary"},
        "many":{"type":"array","items":{"type":"string","format":"binary"}},
        "text":{"type":"string"},
        "b64":{"type":"string","format":"byte"},
        "image":{"type":"string"},
        "json":{"type":"object"},
        "any":{}
    }},"encoding":{"image":{"contentType":"image/png, image/jpeg"},"json":{"contentType":"application/json"},"any":{"contentType":"image/*"}}}"#;
    let body = with_body("3.0.3", &format!(r#"{{"content":{{{content}}}}}"#)).body.unwrap();
    let BodyFormat::Multipart(fields) = body.format else { panic!() };
    assert_eq!(
        fields,
        [
            Field { is_file: true, ..field("one") },
            Field { is_file: true, ..field("many") },
            Field { is_file: true, media_type: Some("image/png".into()), ..field("image") },
            Field { media_type: Some("application/json".into()), ..field("json") },
            Field { is_file: true, ..field("any") },
        ]
    );
    let schema = body.schema.unwrap().to_string();
    let files =
        r#"{"properties":{"image":{"contentEncoding":"base64"},"any":{"contentEncoding":"base64"}}}]}"#;
    assert!(schema.starts_with(r#"{"allOf":[{"type":"object","#) && schema.ends_with(files), "{schema}");
    let content = r#""application/x-www-form-urlencoded":{"schema":{"allOf":[{"properties":{"a":{},"b":{}}}]},"encoding":{"a":{"style":"spaceDelimited"},"b":{"explode":false}}}"#;
    let styled = |style, explode| Some(ParamFormat::Styled { style, explode, allow_reserved: false });
    let body = with_body("3.0.3", &format!(r#"{{"content":{{{content}}}}}"#)).body.unwrap();
    assert_eq!(
        body.format,
        BodyFormat::Form(vec![
            Field { format: styled(Style::SpaceDelimited, false), ..field("a") },
            Field { format: styled(Style::Form, false), ..field("b") },
        ])
    );
}

#[test]
fn bodies_that_cannot_be_written_skip_the_operation() {
    for (body, expected) in [
        (
            r#"{"content":{"multipart/mixed":{"schema":{"type":"object"}}}}"#,
            r#"the body: nothing is known of how to write it as "multipart/mixed""#,
        ),
        (r#"{"content":[]}"#, "the body: its content is not an object"),
        (
            r##"{"$ref":"#/components/requestBodies/no"}"##,
            r##"the body: the reference "#/components/requestBodies/no" leads to nothing"##,
        ),
        (
            r##"{"content":{"application/json":{"schema":{"$ref":"other.yaml#/a"}}}}"##,
            r##"the body: the reference "other.yaml" leads to another document, which is not allowed"##,
        ),
    ] {
        let paths = format!(r#""/a":{{"post":{{"requestBody":{body}}}}}"#);
        assert_eq!(reason(&document("3.0.3", &paths, "")), expected);
    }
    assert_eq!(with_body("3.0.3", r#"{"content":{}}"#).body, None);
    let body = with_body("3.0.3", r#"{"required":true,"description":"D","content":{"application/json":{}}}"#)
        .body
        .unwrap();
    assert!(body.required);
    assert_eq!(body.description.as_deref(), Some("D"));
}

#[track_caller]
fn check_output(responses: &str, expected: Option<&str>) {
    let operation = at_id(&format!(r#""responses":{{{responses}}}"#));
    assert_eq!(operation.output.as_ref().map(|output| output.as_str()), expected, "{responses}");
}

#[test]
fn the_output_is_what_every_success_is() {
    let json = |schema: &str| format!(r#"{{"content":{{"application/json":{{"schema":{schema}}}}}}}"#);
    let (a, b) = (json(r#"{"type":"object"}"#), json(r#"{"type":"array"}"#));
    check_output("", None);
    check_output(&format!(r#""200":{a}"#), Some(r#"{"type":"object"}"#));
    check_output(&format!(r#""2XX":{a},"404":{b}"#), Some(r#"{"type":"object"}"#));
    check_output(
        &format!(r#""200":{a},"201":{b}"#),
        Some(r#"{"anyOf":[{"type":"object"},{"type":"array"}]}"#),
    );
    check_output(&format!(r#""200":{a},"201":{a}"#), Some(r#"{"type":"object"}"#));
    check_output(&format!(r#""200":{a},"204":{{}}"#), None);
    check_output(&format!(r#""default":{a}"#), None);
    check_output(r#""200":{"content":{"text/plain":{"schema":{}}}}"#, None);
    check_output(r#""200":{"content":{"application/json":{}}}"#, None);
    check_output(r#""200":{"content":{"*/*":{"schema":{"type":"object"}}}}"#, Some(r#"{"type":"object"}"#));
    check_output(
        r#""200":{"content":{"text/csv":{},"application/hal+json":{"schema":{"const":1}}}}"#,
        Some(r#"{"const":1}"#),
    );
    check_output(r##""200":{"$ref":"#/components/responses/no"}"##, None);
    check_output(&format!(r#""200":{}"#, json(r##"{"items":{"$ref":"#/no"}}"##)), None);
    let head = only(&document("3.0.3", &format!(r#""/a":{{"head":{{"responses":{{"200":{a}}}}}}}"#), ""));
    assert_eq!(head.output, None);
}

fn security(global: &str, own: &str) -> Vec<Requirement> {
    let text = format!(
        r#"{{"openapi":"3.0.0","info":{{"title":"T"}}{global},"paths":{{"/a":{{"get":{{{own}}}}}}}}}"#
    );
    only(&text).security
}

fn needs(names: &[(&str, &[&str])]) -> Requirement {
    let scheme = |(name, scopes): &(&str, &[&str])| crate::ir::SchemeUse {
        name: (*name).into(),
        scopes: scopes.iter().map(|&scope| scope.into()).collect(),
    };
    Requirement(names.iter().map(scheme).collect())
}

#[test]
fn security_is_the_operations_or_else_the_documents() {
    let global = r#","security":[{"k":[]}]"#;
    assert_eq!(security("", ""), []);
    assert_eq!(security(global, ""), [needs(&[("k", &[])])]);
    assert_eq!(security(global, r#""security":[]"#), [needs(&[])]);
    assert_eq!(security(global, r#""security":[{}]"#), [needs(&[])]);
    assert_eq!(
        security(global, r#""security":[{"b":["x","y"],"a":[]},{"c":[]},{"c":[]}]"#),
        [needs(&[("a", &[]), ("b", &["x", "y"])]), needs(&[("c", &[])])]
    );
    let odd = document("3.0.3", r#""/a":{"get":{"security":{"k":[]}}}"#, "");
    assert_eq!(reason(&odd), "what it says of security is not understood");
    assert_eq!(security(r#","security":[{"k":null}]"#, ""), [needs(&[("k", &[])])]);
    assert_eq!(security(r#","security":null"#, ""), []);
}

#[test]
fn security_of_the_document_that_is_not_understood_skips_what_would_need_it() {
    let text = r#"{"openapi":"3.0.3","info":{"title":"T"},"security":[{"k":"x"}],
        "paths":{"/a":{"get":{}},"/b":{"get":{"security":[]}}}}"#;
    let listing = listing(text);
    assert_eq!(listing.operations.iter().map(|o| o.path.as_str()).collect::<Vec<_>>(), ["/b"]);
    assert_eq!(listing.skipped[0].reason, "the whole document: what it says of security is not understood");
}

#[test]
fn security_schemes_are_known_by_name() {
    let schemes = r##""securitySchemes":{
        "h":{"type":"apiKey","in":"header","name":"X-Key"},
        "q":{"type":"apiKey","in":"query","name":"key"},
        "odd":{"type":"apiKey","in":"body","name":"key"},
        "basic":{"type":"http","scheme":"Basic"},
        "bearer":{"type":"http","scheme":"bearer","bearerFormat":"JWT"},
        "digest":{"type":"http","scheme":"digest"},
        "cc":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://x.test/t","scopes":{}}}},
        "code":{"type":"oauth2","flows":{"authorizationCode":{}}},
        "oidc":{"type":"openIdConnect","openIdConnectUrl":"u"},
        "mtls":{"type":"mutualTLS"},
        "ref":{"$ref":"#/components/securitySchemes/h"},
        "broken":7
    }"##;
    let listing = listing(&document("3.1.0", "", schemes));
    let key = |location, name: &str| SecurityScheme::ApiKey { location, name: name.into() };
    let other = |name: &str| SecurityScheme::Other(name.into());
    for (name, expected) in [
        ("h", key(Location::Header, "X-Key")),
        ("q", key(Location::Query, "key")),
        ("odd", other("apiKey")),
        ("basic", SecurityScheme::Basic),
        ("bearer", SecurityScheme::Bearer),
        ("digest", other("http digest")),
        ("cc", SecurityScheme::OAuth2 { token_url: Some("https://x.test/t".into()) }),
        ("code", SecurityScheme::OAuth2 { token_url: None }),
        ("oidc", SecurityScheme::OpenIdConnect),
        ("mtls", other("mutualTLS")),
        ("ref", key(Location::Header, "X-Key")),
        ("broken", other("one that cannot be read")),
    ] {
        assert_eq!(listing.schemes.get(name), Some(&expected), "{name}");
    }
}

#[test]
fn path_items_may_stand_elsewhere() {
    let paths = r##""/a":{"$ref":"#/components/pathItems/P","parameters":[{"name":"q","in":"query"}]}"##;
    let components = r#""pathItems":{"P":{"get":{"operationId":"there"}}}"#;
    let operation = only(&document("3.1.0", paths, components));
    assert_eq!(operation.id, "there");
    assert_eq!(params(&operation), ["query:q:-"]);
}

#[test]
fn what_stands_beside_a_reference_describes_it_from_3_1_on() {
    let paths =
        r##""/a":{"get":{"parameters":[{"$ref":"#/components/parameters/P","description":"here"}]}}"##;
    let components = r#""parameters":{"P":{"name":"p","in":"query","description":"there"}}"#;
    for (version, expected) in [("3.0.3", "there"), ("3.1.0", "here")] {
        let operation = only(&document(version, paths, components));
        assert_eq!(operation.params[0].description.as_deref(), Some(expected), "{version}");
    }
}
