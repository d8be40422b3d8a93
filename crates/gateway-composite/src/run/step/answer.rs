use gateway_domain::{JsonKind, RawJson, RawObject, printable};

use crate::run::members::Members;

const STRUCTURED: &str = "structuredContent";
/// How much of what a tool says about its failure is passed on, in characters.
pub(super) const MESSAGE_LIMIT: usize = 1_000;

/// What a step has from a tool's result. Both are parts of the result's own bytes where they can be.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(super) output: RawObject,
    /// The raw `content`.
    pub(super) content: Option<RawJson>,
    /// How many bytes of the output are a copy, as a map is.
    pub(super) copied: usize,
}

impl Answer {
    /// The output of a result (C-50): its `structuredContent` if that is an object, else a map of its content. There
    /// the first text is `text`, the next ones `text_1`, `text_2` and so on; likewise `image` and `audio` are their
    /// base64 data, `resource` is the embedded resource, and `resource_link` the link's whole block. Blocks of other
    /// types are only in the content. A `structuredContent` that is no object is beside them, under that name, which no
    /// content has.
    ///
    /// `None`: it is nested too deep, or a member of its `structuredContent` stands twice.
    pub(super) fn of(result: &RawObject) -> Option<Self> {
        let content = result.get("content");
        let structured = result.get(STRUCTURED);
        if let Some(object) = structured.as_ref().filter(|it| it.kind() == JsonKind::Object) {
            return Some(Self { output: RawObject::try_from(object.clone()).ok()?, content, copied: 0 });
        }
        let output = mapped(content.as_ref(), structured.as_ref())?;
        Some(Self { copied: output.as_str().len(), output, content })
    }
}

fn mapped(content: Option<&RawJson>, structured: Option<&RawJson>) -> Option<RawObject> {
    let mut output = Members::new();
    let mut counts = [0_usize; KINDS.len()];
    for block in blocks(content) {
        let Some((kind, value)) = value(&block) else { continue };
        let name = match counts[kind] {
            0 => KINDS[kind].0.to_owned(),
            earlier => format!("{}_{earlier}", KINDS[kind].0),
        };
        output.add(&name, &value);
        counts[kind] += 1;
    }
    if let Some(structured) = structured {
        output.add(STRUCTURED, structured);
    }
    output.finish().ok()
}

/// The types of content that are mapped, and the member of the block that is its value; none: the block.
const KINDS: [(&str, Option<&str>); 5] = [
    ("text", Some("text")),
    ("image", Some("data")),
    ("audio", Some("data")),
    ("resource", Some("resource")),
    ("resource_link", None),
];

fn value(block: &RawObject) -> Option<(usize, RawJson)> {
    let named = block.get_text("type")?;
    let kind = KINDS.iter().position(|(kind, _)| *kind == named)?;
    let value = match KINDS[kind].1 {
        Some(member) => block.get(member)?,
        None => block.raw().clone(),
    };
    Some((kind, value))
}

fn blocks(content: Option<&RawJson>) -> impl Iterator<Item = RawObject> {
    let blocks = content.and_then(|content| content.elements(usize::MAX)).unwrap_or_default();
    blocks.into_iter().filter_map(|block| RawObject::try_from(block).ok())
}

/// What a result says about the failure that it is (C-47); `None`: it is none.
pub(super) fn failure(result: &RawObject) -> Option<String> {
    let is_error = result.get("isError").and_then(|flag| flag.to_bool()) == Some(true);
    is_error.then(|| {
        let said = said(result).unwrap_or_else(|| "it does not say why".to_owned());
        printable(&said, MESSAGE_LIMIT)
    })
}

fn said(result: &RawObject) -> Option<String> {
    let is_text = |block: &RawObject| block.get_text("type").as_deref() == Some("text");
    let text = blocks(result.get("content").as_ref()).find(is_text).and_then(|block| block.get_text("text"));
    let is_something = |text: &String| !text.trim().is_empty();
    text.filter(is_something).or_else(|| {
        let structured = result.get_object("structuredContent")?;
        ["error", "message", "text"].iter().find_map(|name| structured.get_text(name).filter(is_something))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: &str) -> RawObject {
        RawObject::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn an_output_is_the_structured_content_or_a_map_of_the_content() {
        let rows = [
            (
                r#"{"structuredContent":{ "a":9007199254740993,"b":1e400}}"#,
                r#"{ "a":9007199254740993,"b":1e400}"#,
            ),
            (r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{}}"#, "{}"),
            (
                r#"{"content":[{"type":"text","text":"a"}],"structuredContent":[1.0]}"#,
                r#"{"text":"a","structuredContent":[1.0]}"#,
            ),
            (r#"{"structuredContent":null}"#, r#"{"structuredContent":null}"#),
            (r#"{"content":[],"structuredContent":"a"}"#, r#"{"structuredContent":"a"}"#),
            ("{}", "{}"),
            (r#"{"content":7}"#, "{}"),
            (
                r#"{"content":[{"type":"text","text":"\u0061"},{"type":"image","data":"AA=="},{"type":"text","text":"b"},7,
                {"type":"text","text":"c"},{"type":"image","data":"BB=="},{"type":"audio","data":"CC=="},{"type":"new"},
                {"type":"resource","resource":{"uri":"x:y","text":"t"}},{"type":"resource_link","uri":"x:z","name":"z"}]}"#,
                r#"{"text":"\u0061","image":"AA==","text_1":"b","text_2":"c","image_1":"BB==","audio":"CC==","resource":{"uri":"x:y","text":"t"},"resource_link":{"type":"resource_link","uri":"x:z","name":"z"}}"#,
            ),
        ];
        for (given, output) in rows {
            assert_eq!(Answer::of(&result(given)).unwrap().output.as_str(), output);
        }
    }

    proptest::proptest! {
        #[test]
        fn every_block_of_a_known_type_has_a_name_of_its_own(kinds in proptest::collection::vec(0..6_usize, 0..40)) {
            let block = |(at, kind): (usize, &usize)| match KINDS.get(*kind) {
                Some((name, Some(member))) => format!(r#"{{"type":"{name}","{member}":"{at}"}}"#),
                Some((name, None)) => format!(r#"{{"type":"{name}","uri":"{at}"}}"#),
                None => r#"{"type":"of another time"}"#.to_owned(),
            };
            let blocks: Vec<_> = kinds.iter().enumerate().map(block).collect();
            let answer = Answer::of(&result(&format!(r#"{{"content":[{}]}}"#, blocks.join(",")))).unwrap();
            let known = kinds.iter().filter(|kind| **kind < KINDS.len()).count();
            proptest::prop_assert_eq!(answer.output.len(), known);
            for (kind, (name, _)) in KINDS.iter().enumerate() {
                let count = kinds.iter().filter(|it| **it == kind).count();
                let names = (0..count).map(|at| if at == 0 { (*name).to_owned() } else { format!("{name}_{at}") });
                for name in names {
                    proptest::prop_assert!(answer.output.contains(&name), "{} in {:?}", name, answer.output);
                }
            }
        }
    }

    #[test]
    fn raw_content_is_kept_beside_structured_content() {
        let answer = Answer::of(&result(r#"{"content":[ 1.0 ],"structuredContent":{"a":1}}"#)).unwrap();
        assert_eq!(answer.content.unwrap().as_str(), "[ 1.0 ]");
    }

    #[test]
    fn a_failure_is_told_in_the_tools_own_words() {
        let long =
            format!(r#"{{"isError":true,"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(2000));
        let cut = format!("{}…", "x".repeat(1000));
        let rows = [
            (r#"{"isError":false,"content":[]}"#, None),
            ("{}", None),
            (
                r#"{"isError":true,"content":[{"type":"image","data":""},{"type":"text","text":"first"},{"type":"text","text":"second"}]}"#,
                Some("first"),
            ),
            (r#"{"isError":true,"structuredContent":{"text":"t","message":"m"}}"#, Some("m")),
            (r#"{"isError":true,"structuredContent":{"error":"e","message":"m"}}"#, Some("e")),
            (r#"{"isError":true,"structuredContent":{"error":7,"text":"t"}}"#, Some("t")),
            (r#"{"isError":true}"#, Some("it does not say why")),
            (&long, Some(&*cut)),
        ];
        for (given, said) in rows {
            assert_eq!(failure(&result(given)).as_deref(), said);
        }
    }
}
