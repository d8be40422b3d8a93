//! What tools are made of operations and of what the operator says (E-10 to E-14, E-34, E-35).

use std::sync::Arc;

use gateway_domain::RawJson;
use gateway_openapi::{
    engine::{
        AnnotationOverride, Argument, BaseUrl, BuildConfig, BuildError, Executor, ExecutorConfig, NameError,
        Override, Tool, ToolServer, build, default_shape, register,
    },
    ir::{Location, Method, Operation, Param},
};

use crate::router::Router;

const THING: &str = r#"{"type":"object","required":["id"]}"#;

fn config() -> BuildConfig {
    let router = Router::new(|_| std::future::pending());
    BuildConfig::new(Arc::new(Executor::new(ExecutorConfig::new(
        BaseUrl::parse("http://in.process").unwrap(),
        router,
    ))))
}

fn operation(id: &str, method: Method) -> Operation {
    Operation {
        summary: Some("Thing".into()),
        output: RawJson::parse(THING).ok(),
        params: vec![Param::new("tenant", Location::Query)],
        ..Operation::new(id, method, format!("/{id}"))
    }
}

/// The only tool that is made of an operation.
fn made(method: Method, change: impl FnOnce(&mut BuildConfig)) -> Tool {
    let mut config = config();
    change(&mut config);
    build([operation("thing", method)], &config).unwrap().remove(0)
}

fn with(wanted: Override) -> impl FnOnce(&mut BuildConfig) {
    |config| drop(config.overrides.insert("thing".into(), wanted))
}

#[test]
fn a_tool_has_an_output_schema_where_answers_will_keep_to_it() {
    let wanted = |output_schema| Override { output_schema, ..Override::default() };
    let some_fields =
        Override { fields: vec![vec!["id".into()]], output_schema: Some(true), ..Override::default() };
    let none = |config: &mut BuildConfig| config.output_schemas = false;
    for (tool, is_there) in [
        (made(Method::Get, |_| {}), true),
        (made(Method::Head, |_| {}), false),
        (made(Method::Get, none), false),
        (made(Method::Get, with(wanted(Some(false)))), false),
        (
            made(Method::Get, |config| {
                none(config);
                with(wanted(Some(true)))(config);
            }),
            true,
        ),
        (made(Method::Get, with(some_fields)), false),
        (made(Method::Get, |config| config.max_schema_bytes = 10), false),
        (made(Method::Get, |config| config.shape = Some(Arc::new(default_shape))), false),
    ] {
        let schema = tool.definition().output_schema();
        assert_eq!(schema.is_some(), is_there, "{schema:?} for {tool:?}");
    }
    let notes = made(Method::Get, |config| config.max_schema_bytes = 10).notes().to_vec();
    assert!(notes.contains(&"no output schema: it has more than 10 bytes".to_owned()), "{notes:?}");
    let anything = Operation { output: RawJson::parse("true").ok(), ..operation("thing", Method::Get) };
    let tool = build([anything], &config()).unwrap().remove(0);
    assert!(tool.definition().output_schema().is_none(), "{tool:?}");
    assert_eq!(tool.notes(), ["no output schema: it is no object but `true`"]);
}

#[test]
fn what_the_operator_says_of_an_operation_goes_before_what_the_source_says() {
    let tool = made(
        Method::Get,
        with(Override {
            name: Some("renamed".into()),
            title: Some("A title".into()),
            description: Some("A text.".into()),
            annotations: AnnotationOverride { open_world: Some(false), ..AnnotationOverride::default() },
            ..Override::default()
        }),
    );
    let definition = tool.definition();
    assert_eq!(definition.name(), "renamed");
    assert_eq!(definition.title().as_deref(), Some("A title"));
    assert_eq!(definition.description().as_deref(), Some("A text.\n\nCalls GET /thing"));
    assert_eq!(
        definition.annotations().unwrap().as_str(),
        r#"{"title":"A title","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}"#
    );
}

#[test]
fn an_operation_is_known_by_its_path_before_its_id() {
    let titled = |title: &str| Override { title: Some(title.into()), ..Override::default() };
    let tool = made(Method::Get, |config| {
        config.overrides.insert("thing".into(), titled("by id"));
        config.overrides.insert("POST /thing".into(), titled("another"));
    });
    assert_eq!(tool.definition().title().as_deref(), Some("by id"));
    let tool = made(Method::Get, |config| {
        config.overrides.insert("thing".into(), titled("by id"));
        config.overrides.insert("GET /thing".into(), titled("by path"));
    });
    assert_eq!(tool.definition().title().as_deref(), Some("by path"));
}

#[test]
fn what_is_said_by_path_leaves_what_else_is_said_by_id() {
    let tool = made(Method::Get, |config| {
        let hidden = Override {
            title: Some("by id".into()),
            arguments: [("tenant".to_owned(), Argument::Hidden)].into(),
            ..Override::default()
        };
        config.overrides.insert("thing".into(), hidden);
        let described = Override { description: Some("by path".into()), ..Override::default() };
        config.overrides.insert("GET /thing".into(), described);
    });
    let definition = tool.definition();
    assert_eq!(definition.title().as_deref(), Some("by id"));
    assert_eq!(definition.description().as_deref(), Some("by path\n\nCalls GET /thing"));
    assert!(!definition.definition().as_str().contains("tenant"), "{definition:?}");
}

#[test]
fn an_argument_that_is_to_be_kept_and_is_not_there_keeps_the_operation_from_being_offered() {
    let mut config = config();
    let hidden =
        Override { arguments: [("tenent".to_owned(), Argument::Hidden)].into(), ..Override::default() };
    config.overrides.insert("thing".into(), hidden);
    let reason = "arguments are configured that it does not have: `tenent`".to_owned();
    assert_eq!(
        build([operation("thing", Method::Get)], &config).unwrap_err(),
        BuildError::Operation { operation: "GET /thing".into(), reason }
    );
}

#[test]
fn an_annotator_sees_what_follows_from_the_method_and_the_operator_has_the_last_word() {
    let hints = |tool: &Tool| tool.definition().annotations().unwrap().as_str().to_owned();
    let annotate = |config: &mut BuildConfig| {
        config.annotator = Some(Arc::new(|operation, mut annotations| {
            assert!(operation.id == "thing" && !annotations.read_only && !annotations.destructive);
            annotations.title = None;
            annotations.read_only = true;
            annotations
        }));
    };
    assert!(
        hints(&made(Method::Post, annotate)).starts_with(r#"{"readOnlyHint":true,"destructiveHint":false"#)
    );
    let destructive = AnnotationOverride { destructive: Some(true), ..AnnotationOverride::default() };
    let tool = made(Method::Post, |config| {
        annotate(config);
        with(Override { annotations: destructive, ..Override::default() })(config);
    });
    assert!(hints(&tool).starts_with(r#"{"readOnlyHint":false,"destructiveHint":true"#));
}

#[test]
fn one_tool_is_made_of_each_operation_in_order_and_all_are_registered() {
    struct Server(Vec<String>);
    impl ToolServer for Server {
        fn add(&mut self, tool: Tool) {
            self.0.push(tool.definition().name().to_owned());
        }
    }
    let tools = build(["b", "c", "a"].map(|id| operation(id, Method::Get)), &config()).unwrap();
    let mut server = Server(Vec::new());
    register(&mut server, tools);
    assert_eq!(server.0, ["b", "c", "a"]);
}

#[test]
fn a_name_that_cannot_be_had_is_an_error() {
    let mut config = config();
    for id in ["a", "b"] {
        let named = Override { name: Some("same".into()), ..Override::default() };
        config.overrides.insert(id.into(), named);
    }
    let made = build(["a", "b"].map(|id| operation(id, Method::Get)), &config);
    assert_eq!(made.unwrap_err(), BuildError::Name(NameError::Repeated { name: "same".into() }));
}
