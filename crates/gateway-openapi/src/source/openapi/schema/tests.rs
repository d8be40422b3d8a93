use crate::{
    ir::Operation,
    source::openapi::tests::{document, only},
};

fn operation(version: &str, schema: &str, schemas: &str) -> Operation {
    let paths = format!(
        r#""/a":{{"post":{{"requestBody":{{"content":{{"application/json":{{"schema":{schema}}}}}}},
            "responses":{{"200":{{"content":{{"application/json":{{"schema":{schema}}}}}}}}}}}}}"#
    );
    only(&document(version, &paths, &format!(r#""schemas":{{{schemas}}}"#)))
}

#[track_caller]
fn check(version: &str, schema: &str, expected: &str) {
    let operation =
        operation(version, schema, r#""A":{"type":"string"},"B":{"type":"integer","readOnly":true}"#);
    let found = operation.body.unwrap().schema.unwrap();
    assert_eq!(found.as_str(), expected, "for {schema} in {version}");
}

#[test]
fn what_2020_12_knows_stays_in_its_order_with_its_digits() {
    for same in [
        "true",
        "false",
        "{}",
        r#"{"type":"object","title":"T","properties":{"b":{"type":"number","default":1.0},"a":{"const":{"x":[1e3]}}},"additionalProperties":false,"required":["a"]}"#,
        r#"{"type":"array","items":{"type":"string"},"minItems":1,"uniqueItems":true}"#,
        r#"{"type":["string","null"],"minLength":1,"maxLength":9007199254740993,"pattern":"^[a-z]+$","format":"email"}"#,
        r#"{"maximum":1e3,"exclusiveMinimum":-0.50,"multipleOf":0.1}"#,
        r#"{"allOf":[{"type":"string"}],"anyOf":[true],"oneOf":[{},{"type":"null"}],"not":{"const":1}}"#,
        r#"{"if":{"const":1},"then":true,"else":false}"#,
        r#"{"prefixItems":[{"type":"string"}],"items":false,"contains":{"const":1},"maxContains":3}"#,
        r#"{"patternProperties":{"^x":{}},"propertyNames":{"maxLength":3},"dependentRequired":{"a":["b"]},"dependentSchemas":{"a":{}}}"#,
        r#"{"deprecated":true,"readOnly":true,"examples":[1,"a"],"enum":["a",null,1]}"#,
        r#"{"contentEncoding":"base64","contentMediaType":"application/json","contentSchema":{}}"#,
    ] {
        check("3.1.0", same, same);
    }
}

#[test]
fn keywords_of_openapi_and_unknown_ones_go() {
    check(
        "3.0.3",
        r#"{"type":"object","xml":{"name":"x"},"externalDocs":{"url":"u"},"x-y":1,"$comment":"c","discriminator":{"propertyName":"k"},"other":2,"deprecated":false,"uniqueItems":false}"#,
        r#"{"type":"object"}"#,
    );
    check(
        "3.1.0",
        r#"{"$schema":"s","$id":"urn:x","$anchor":"a","$defs":{"x":{}},"unevaluatedProperties":false}"#,
        "{}",
    );
    check(
        "3.0.3",
        r#"{"oneOf":[{"title":"a"}],"discriminator":{"propertyName":"k"}}"#,
        r#"{"anyOf":[{"title":"a"}]}"#,
    );
}

#[test]
fn null_is_allowed_where_nullable_says_so() {
    for (schema, expected) in [
        (r#"{"type":"string","nullable":true}"#, r#"{"type":["string","null"]}"#),
        (r#"{"type":"string","nullable":false}"#, r#"{"type":"string"}"#),
        (
            r#"{"type":"string","nullable":true,"enum":["a"]}"#,
            r#"{"type":["string","null"],"enum":["a",null]}"#,
        ),
        (
            r#"{"type":"string","nullable":true,"enum":["a",null]}"#,
            r#"{"type":["string","null"],"enum":["a",null]}"#,
        ),
        (r#"{"nullable":true,"enum":["a"]}"#, r#"{"enum":["a",null]}"#),
        (r#"{"nullable":true}"#, "{}"),
        (
            r##"{"nullable":true,"description":"d","allOf":[{"$ref":"#/components/schemas/A"}]}"##,
            r##"{"description":"d","anyOf":[{"allOf":[{"$ref":"#/$defs/A"}]},{"type":"null"}]}"##,
        ),
        (
            r##"{"$ref":"#/components/schemas/A","nullable":true}"##,
            r##"{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}"##,
        ),
        (
            r##"{"type":"object","nullable":true,"oneOf":[{"type":"object"}]}"##,
            r##"{"anyOf":[{"type":"object","oneOf":[{"type":"object"}]},{"type":"null"}]}"##,
        ),
    ] {
        check("3.0.3", schema, expected);
    }
}

#[test]
fn bounds_of_3_0_say_of_others_what_they_are() {
    check("3.0.3", r#"{"maximum":10,"exclusiveMaximum":true}"#, r#"{"exclusiveMaximum":10}"#);
    check("3.0.3", r#"{"exclusiveMinimum":true,"minimum":1.50}"#, r#"{"exclusiveMinimum":1.50}"#);
    check("3.0.3", r#"{"maximum":10,"exclusiveMaximum":false}"#, r#"{"maximum":10}"#);
    check("3.0.3", r#"{"exclusiveMaximum":true}"#, "{}");
}

#[test]
fn what_stands_beside_a_reference_is_ignored_in_3_0_only() {
    let schema = r##"{"$ref":"#/components/schemas/A","description":"d","maxLength":3,"required":["x"]}"##;
    check("3.0.3", schema, r##"{"$ref":"#/$defs/A","description":"d"}"##);
    check("3.1.0", schema, r##"{"$ref":"#/$defs/A","description":"d","maxLength":3,"required":["x"]}"##);
}

#[test]
fn bytes_are_base64() {
    let base64 = r#"{"type":"string","contentEncoding":"base64"}"#;
    for schema in [
        r#"{"type":"string","format":"binary"}"#,
        r#"{"type":"string","format":"byte"}"#,
        r#"{"type":"file"}"#,
        r#"{"type":"string","format":"binary","maxLength":10,"pattern":"^a"}"#,
    ] {
        check("3.0.3", schema, base64);
    }
    check(
        "3.1.0",
        r#"{"type":"string","contentMediaType":"image/png"}"#,
        r#"{"type":"string","contentMediaType":"image/png","contentEncoding":"base64"}"#,
    );
    check(
        "3.1.0",
        r#"{"type":"string","contentMediaType":"text/html"}"#,
        r#"{"type":"string","contentMediaType":"text/html"}"#,
    );
    check("3.0.3", r#"{"type":"object","format":"binary"}"#, r#"{"type":"object"}"#);
}

#[test]
fn what_is_wrong_is_mended_or_left_out() {
    for (schema, expected) in [
        ("null", "{}"),
        ("[]", "{}"),
        (r#"{"a":1,"a":2}"#, "{}"),
        (r#"{"type":"any"}"#, "{}"),
        (r#"{"type":"String"}"#, r#"{"type":"string"}"#),
        (r#"{"type":"float"}"#, r#"{"type":"number"}"#),
        (r#"{"type":"int"}"#, r#"{"type":"integer"}"#),
        (r#"{"type":["string",null]}"#, r#"{"type":["string","null"]}"#),
        (r#"{"type":["string","any"]}"#, "{}"),
        (r#"{"type":["string","string"]}"#, r#"{"type":"string"}"#),
        (r#"{"type":[]}"#, "{}"),
        (r#"{"type":{}}"#, "{}"),
        (r#"{"enum":null}"#, "{}"),
        (r#"{"enum":[]}"#, "{}"),
        (r#"{"enum":["a","b","a"]}"#, r#"{"enum":["a","b"]}"#),
        (r#"{"type":"string","enum":[1.10,true,"x"]}"#, r#"{"type":"string","enum":["1.10","true","x"]}"#),
        (r#"{"type":"integer","enum":["1","2"]}"#, r#"{"type":"integer","enum":[1,2]}"#),
        (r#"{"required":true}"#, "{}"),
        (r#"{"required":["a","a",1]}"#, r#"{"required":["a"]}"#),
        (r#"{"required":[]}"#, "{}"),
        (
            r#"{"properties":{"a":{"type":"string","required":true},"b":{"required":false}}}"#,
            r#"{"properties":{"a":{"type":"string"},"b":{}},"required":["a"]}"#,
        ),
        (r#"{"properties":["a"]}"#, "{}"),
        (r#"{"properties":{"a":null}}"#, r#"{"properties":{"a":{}}}"#),
        (
            r#"{"items":[{"type":"string"}],"additionalItems":false}"#,
            r#"{"prefixItems":[{"type":"string"}],"items":false}"#,
        ),
        (r#"{"items":null}"#, "{}"),
        (r#"{"additionalProperties":null}"#, "{}"),
        (r#"{"additionalProperties":"true"}"#, "{}"),
        (r#"{"allOf":[]}"#, "{}"),
        (r#"{"allOf":{"type":"string"}}"#, r#"{"allOf":[{"type":"string"}]}"#),
        (r#"{"anyOf":[null,1]}"#, r#"{"anyOf":[{},{}]}"#),
    ] {
        check("3.0.3", schema, expected);
    }
}

#[test]
fn numbers_patterns_and_texts_are_mended_or_left_out() {
    for (schema, expected) in [
        (r#"{"minLength":-1}"#, "{}"),
        (r#"{"minLength":1.0}"#, r#"{"minLength":1}"#),
        (r#"{"minLength":1.5}"#, "{}"),
        (r#"{"minLength":"3"}"#, r#"{"minLength":3}"#),
        (r#"{"maxItems":null}"#, "{}"),
        (r#"{"maximum":"10"}"#, r#"{"maximum":10}"#),
        (r#"{"maximum":"x"}"#, "{}"),
        (r#"{"maximum":1e999}"#, "{}"),
        (r#"{"multipleOf":0}"#, "{}"),
        (r#"{"multipleOf":-1}"#, "{}"),
        (r#"{"pattern":"("}"#, "{}"),
        (r#"{"pattern":"/^a$/i"}"#, "{}"),
        (r#"{"pattern":"^\\d{3}$"}"#, r#"{"pattern":"^\\d{3}$"}"#),
        (r#"{"pattern":"^(?!a)b"}"#, r#"{"pattern":"^(?!a)b"}"#),
        (r#"{"pattern":1}"#, "{}"),
        (r#"{"patternProperties":{"(":{}},"additionalProperties":false}"#, r#"{"patternProperties":{}}"#),
        (r#"{"not":{"pattern":"("}}"#, "{}"),
        (r#"{"title":1,"description":{},"format":[],"deprecated":"yes"}"#, "{}"),
        (r#"{"example":"e"}"#, r#"{"examples":["e"]}"#),
        (r#"{"example":"e","examples":["f"]}"#, r#"{"examples":["f"]}"#),
        (r#"{"examples":{"a":{"value":1}}}"#, "{}"),
        (r#"{"default":1e999}"#, "{}"),
        (r#"{"default":"\ud800"}"#, "{}"),
        (r#"{"default":"\ud83d\ude00"}"#, r#"{"default":"\ud83d\ude00"}"#),
        (r##"{"default":{"$ref":"#/$defs/x"}}"##, "{}"),
        (r#"{"$ref":1}"#, "{}"),
    ] {
        check("3.0.3", schema, expected);
    }
    check("3.0.3", r#"{"pattern":"(a{999}){999}"}"#, "{}");
    check("3.0.3", &format!(r#"{{"pattern":"{}"}}"#, "a".repeat(5_000)), "{}");
    check("3.0.3", &format!(r#"{{"example":"{}"}}"#, "a".repeat(300)), "{}");
}

/// What accepts more than the document says must not make what stands around it accept less.
#[test]
fn what_is_widened_does_not_narrow_what_it_stands_in() {
    for (schema, expected) in [
        (
            r#"{"title":"t","oneOf":[{"type":"string","format":"date"},{"type":"string","format":"date-time"}]}"#,
            r#"{"title":"t","anyOf":[{"type":"string","format":"date"},{"type":"string","format":"date-time"}]}"#,
        ),
        (
            r#"{"oneOf":[{"properties":{"a":{"pattern":"("}}},{"const":1}]}"#,
            r#"{"anyOf":[{"properties":{"a":{}}},{"const":1}]}"#,
        ),
        (r#"{"oneOf":[{"format":"date"}],"anyOf":[{"const":1}]}"#, r#"{"anyOf":[{"const":1}]}"#),
        (
            r#"{"oneOf":[{"oneOf":[{"type":"date"}]},{"type":"array","items":null}]}"#,
            r#"{"anyOf":[{"anyOf":[{"type":"string"}]},{"type":"array"}]}"#,
        ),
        (
            r#"{"oneOf":[{"type":"string"},{"type":"integer","maximum":3}],"allOf":[{"format":"x"}]}"#,
            r#"{"oneOf":[{"type":"string"},{"type":"integer","maximum":3}],"allOf":[{"format":"x"}]}"#,
        ),
        (
            r#"{"oneOf":[{"properties":{"id":{"readOnly":true}},"required":["id"]},{"const":1}]}"#,
            r#"{"anyOf":[{"properties":{"id":{"readOnly":true}}},{"const":1}]}"#,
        ),
        (r#"{"if":{"properties":{"k":{"format":"date"}}},"then":{"const":1},"else":{"const":2}}"#, "{}"),
        (r##"{"else":{"const":2},"if":{"$ref":"#/components/schemas/A"},"then":{"const":1}}"##, "{}"),
        (r#"{"then":{"const":1}}"#, "{}"),
        (r#"{"then":{"format":"x"},"if":{"const":1}}"#, r#"{"if":{"const":1},"then":{"format":"x"}}"#),
        (r#"{"not":{"type":"string","format":"date"}}"#, "{}"),
        (r##"{"not":{"$ref":"#/components/schemas/A"}}"##, "{}"),
        (r#"{"not":{"not":{"pattern":"("}}}"#, "{}"),
        (r#"{"not":{"unevaluatedProperties":false,"type":"object"}}"#, "{}"),
        (r#"{"not":{}}"#, r#"{"not":{}}"#),
        (r#"{"contains":{"format":"date"},"maxContains":1}"#, r#"{"maxContains":1}"#),
        (r#"{"contains":{"format":"date"}}"#, r#"{"contains":{"format":"date"}}"#),
    ] {
        check("3.1.0", schema, expected);
    }
}

#[test]
fn descriptions_are_cut_at_a_character() {
    let operation = operation("3.0.3", &format!(r#"{{"description":"{}"}}"#, "é".repeat(10_000)), "");
    let schema = operation.body.unwrap().schema.unwrap();
    assert_eq!(schema.as_str(), format!(r#"{{"description":"{}"}}"#, "é".repeat(4096)));
}

#[test]
fn deep_schemas_end_in_one_that_accepts_everything() {
    let deep = format!("{}true{}", r#"{"items":"#.repeat(110), "}".repeat(110));
    let schema = operation("3.1.0", &deep, "").body.unwrap().schema.unwrap();
    let levels =
        schema.as_str().bytes().take_while(|byte| *byte != b'}').filter(|byte| *byte == b'{').count();
    assert!((90..=100).contains(&levels), "{levels}");
}

#[track_caller]
fn check_definitions(version: &str, schema: &str, schemas: &str, expected: &[(&str, &str)]) {
    let operation = operation(version, schema, schemas);
    let found: Vec<_> =
        operation.definitions.iter().map(|(name, schema)| (name.to_string(), schema.to_string())).collect();
    let expected: Vec<_> = expected.iter().map(|(n, s)| ((*n).to_owned(), (*s).to_owned())).collect();
    assert_eq!(found, expected, "for {schema}");
}

#[test]
fn references_lead_to_definitions_cycles_and_all() {
    check_definitions(
        "3.0.3",
        r##"{"$ref":"#/components/schemas/Node"}"##,
        r##""Node":{"properties":{"next":{"$ref":"#/components/schemas/Node"},"of":{"$ref":"#/components/schemas/a~1b%20c"}}},"a/b c":{"type":"string"},"Unused":{"type":"string"}"##,
        &[
            ("Node", r##"{"properties":{"next":{"$ref":"#/$defs/Node"},"of":{"$ref":"#/$defs/a_1b_20c"}}}"##),
            ("a_1b_20c", r#"{"type":"string"}"#),
        ],
    );
}

#[test]
fn references_lead_anywhere_in_the_document() {
    let schemas =
        r##""A":{"properties":{"p":{"type":"integer"}},"$defs":{"d":{"$anchor":"here","type":"boolean"}}}"##;
    check_definitions(
        "3.1.0",
        r##"{"anyOf":[{"$ref":"#/components/schemas/A/properties/p"},{"$ref":"#here"},{"$ref":"#/components/schemas/A/$defs/d"},{"$dynamicRef":"#here"}]}"##,
        schemas,
        &[("A_properties_p", r#"{"type":"integer"}"#), ("here", r#"{"type":"boolean"}"#)],
    );
    check_definitions(
        "3.1.0",
        r##"{"$ref":"#/paths/~1a/post/responses/200/content/application~1json/schema/$defs/x","$defs":{"x":{"type":"null"}}}"##,
        "",
        &[("paths__1a_post_responses_200_content_application_1json_schema__defs_x", r#"{"type":"null"}"#)],
    );
}

#[test]
fn pointers_may_go_through_references() {
    let schemas = r##""A":{"$ref":"#/components/schemas/B"},"B":{"$ref":"#/components/schemas/C"},"C":{"properties":{"p":{"const":1}}}"##;
    check_definitions(
        "3.1.0",
        r##"{"$ref":"#/components/schemas/A/properties/p"}"##,
        schemas,
        &[("A_properties_p", r#"{"const":1}"#)],
    );
}

#[test]
fn a_document_may_have_a_name_of_its_own() {
    let reference = |to: &str| format!(r#"{{"$ref":"{to}#/components/schemas/A"}}"#);
    let body = |schema: &str| {
        format!(r#"{{"requestBody":{{"content":{{"application/json":{{"schema":{schema}}}}}}}}}"#)
    };
    for to in ["https://x.test/v1/api.json", "api.json", "./api.json", "/v1/api.json", ""] {
        let paths = format!(r#""/a":{{"post":{}}}"#, body(&reference(to)));
        let text = document("3.2.0", &paths, r#""schemas":{"A":{"const":1}}"#);
        let text = text.replacen('{', r#"{"$self":"https://x.test/v1/api.json","#, 1);
        assert_eq!(only(&text).definitions.get("A").unwrap().as_str(), r#"{"const":1}"#, "{to}");
    }
}

#[test]
fn schemas_may_have_a_name_of_their_own() {
    let schemas = r##"
        "A":{"$id":"https://x.test/schemas/a","properties":{"b":{"$ref":"b"},"own":{"$ref":"#/$defs/o"},"doc":{"$ref":"#/components/schemas/C"}},"$defs":{"o":{"const":1}}},
        "B":{"$id":"https://x.test/schemas/b","const":2},
        "C":{"const":3}"##;
    check_definitions(
        "3.1.0",
        r##"{"$ref":"https://x.test/schemas/a"}"##,
        schemas,
        &[
            ("C", r#"{"const":3}"#),
            ("_defs_o", r#"{"const":1}"#),
            (
                "a",
                r##"{"properties":{"b":{"$ref":"#/$defs/b"},"own":{"$ref":"#/$defs/_defs_o"},"doc":{"$ref":"#/$defs/C"}}}"##,
            ),
            ("b", r#"{"const":2}"#),
        ],
    );
}

#[test]
fn schemas_that_lead_back_in_place_are_opened_there() {
    check_definitions(
        "3.0.3",
        r##"{"$ref":"#/components/schemas/Pet"}"##,
        r##""Pet":{"oneOf":[{"$ref":"#/components/schemas/Cat"}]},"Cat":{"allOf":[{"$ref":"#/components/schemas/Pet"},{"type":"object"}]}"##,
        &[("Cat", r#"{"allOf":[{},{"type":"object"}]}"#), ("Pet", r##"{"anyOf":[{"$ref":"#/$defs/Cat"}]}"##)],
    );
    check_definitions(
        "3.0.3",
        r##"{"$ref":"#/components/schemas/A"}"##,
        r##""A":{"$ref":"#/components/schemas/B"},"B":{"$ref":"#/components/schemas/A"}"##,
        &[("A", r##"{"$ref":"#/$defs/B"}"##), ("B", "{}")],
    );
    check_definitions(
        "3.1.0",
        r##"{"$ref":"#/components/schemas/A"}"##,
        r##""A":{"not":{"$ref":"#/components/schemas/A"}}"##,
        &[("A", "{}")],
    );
}

#[test]
fn schemas_that_take_a_validator_too_long_are_opened() {
    let doubled = |n: usize| {
        let next = format!(r##"{{"$ref":"#/components/schemas/S{}"}}"##, n + 1);
        format!(r#""S{n}":{{"allOf":[{next},{next}]}}"#)
    };
    let schemas: Vec<_> = (0..40).map(doubled).chain([r#""S40":{}"#.to_owned()]).collect();
    let operation = operation("3.0.3", r##"{"$ref":"#/components/schemas/S0"}"##, &schemas.join(","));
    assert!(operation.definitions.iter().any(|(name, schema)| &**name != "S40" && schema.as_str() == "{}"));
    let chain = |n: usize| format!(r##""S{n}":{{"$ref":"#/components/schemas/S{}"}}"##, n + 1);
    let schemas: Vec<_> = (0..5_000).map(chain).chain([r#""S5000":{}"#.to_owned()]).collect();
    let operation = self::operation("3.0.3", r##"{"$ref":"#/components/schemas/S0"}"##, &schemas.join(","));
    let opened = operation.definitions.iter().filter(|(_, schema)| schema.as_str() == "{}").count();
    assert!(opened > 50, "{opened}");
}

#[test]
fn what_is_only_read_is_not_required_and_what_is_only_written_not_in_outputs() {
    let schemas = r##"
        "User":{"required":["id","name","secret","by"],"properties":{"id":{"type":"integer","readOnly":true},"name":{},"secret":{"writeOnly":true},"by":{"$ref":"#/components/schemas/By"}}},
        "By":{"type":"string","readOnly":true},
        "Users":{"items":{"$ref":"#/components/schemas/User"}},
        "Other":{"type":"string"},
        "Child":{"allOf":[{"properties":{"x":{"readOnly":true}}},{"required":["x","y"]}]}"##;
    let schema = r##"{"properties":{"users":{"$ref":"#/components/schemas/Users"},"other":{"$ref":"#/components/schemas/Other"},"child":{"$ref":"#/components/schemas/Child"}}}"##;
    let operation = operation("3.0.3", schema, schemas);
    let definition = |name: &str| operation.definitions.get(name).unwrap().to_string();
    assert!(definition("User").ends_with(r#""required":["name","secret"]}"#));
    assert!(definition("User_output").ends_with(r#""required":["name"]}"#));
    assert_eq!(definition("Users"), r##"{"items":{"$ref":"#/$defs/User"}}"##);
    assert_eq!(definition("Users_output"), r##"{"items":{"$ref":"#/$defs/User_output"}}"##);
    assert!(operation.definitions.get("Other_output").is_none());
    assert!(definition("Child").ends_with(r#"{"required":["y"]}]}"#));
    let output = operation.output.unwrap().to_string();
    assert!(output.contains("Users_output") && output.contains("#/$defs/Other\""), "{output}");
    assert!(operation.body.unwrap().schema.unwrap().as_str().contains("#/$defs/Users\""));
}

#[test]
fn names_of_definitions_are_legal_and_unique() {
    let schemas = r##""a b":{"const":1},"a_b":{"const":2},"a.b-c":{"const":3},"é":{"const":4}"##;
    let of = |name: &str| format!(r##"{{"$ref":"#/components/schemas/{name}"}}"##);
    let schema = format!(r#"{{"anyOf":[{},{},{},{}]}}"#, of("a b"), of("a_b"), of("a.b-c"), of("é"));
    check_definitions(
        "3.0.3",
        &schema,
        schemas,
        &[
            ("_", r#"{"const":4}"#),
            ("a.b-c", r#"{"const":3}"#),
            ("a_b", r#"{"const":1}"#),
            ("a_b_2", r#"{"const":2}"#),
        ],
    );
}
