//! The rules that a definition has to keep (C-29 to C-41).

use gateway_composite::{DefinitionErrors, Workflow, WorkflowDefinition};
use gateway_domain::RawObject;

fn load(text: &str) -> Result<Workflow, DefinitionErrors> {
    let definition = RawObject::parse(text.to_owned()).expect("an object");
    Workflow::compile(WorkflowDefinition::read(&definition, None)?)
}

#[test]
fn a_definition_with_everything_in_it_is_read() {
    let workflow = load(EVERYTHING).expect("valid");
    assert_eq!(workflow.definition().steps.len(), 3);
    assert!(workflow.asks());
}

const EVERYTHING: &str = r#"{
  "name": "restock", "description": "Orders what is missing.",
  "parameters": {"type": "object", "properties": {"shop": {"type": "string"}}, "required": ["shop"]},
  "vars": {"currency": "EUR"},
  "timeout": "1h 30m",
  "steps": [
    {"id": "stock", "tool": "shop__stock", "arguments": {"shop": "{{ params.shop }}"}, "timeout": "30s",
     "onError": {"action": "retry", "retryCount": 2, "retryDelay": "500ms"}},
    {"id": "order", "type": "forEach", "dependsOn": ["stock"], "collection": "{{ steps.stock.output.missing }}",
     "itemVar": "article", "maxParallel": 5, "maxIterations": 50,
     "step": {"type": "tool", "tool": "shop__order", "arguments": {"article": "{{ forEach.article.id }}"}}},
    {"id": "confirm", "type": "elicitation", "dependsOn": ["order"], "message": "Order it?",
     "schema": {"type": "object", "properties": {"yes": {"type": "boolean"}}},
     "onDecline": {"action": "skip_remaining"}, "onCancel": "continue"}
  ],
  "output": {"properties": {"count": {"type": "integer", "description": "How many were ordered.",
     "value": "{{ steps.order.output.completed }}"}}, "required": ["count"]},
  "annotations": {"title": "Restock"},
  "metadata": {"team": "shop"}
}"#;
