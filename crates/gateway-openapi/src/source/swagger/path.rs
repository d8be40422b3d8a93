use gateway_domain::{RawJson, RawObject};

use super::{
    Swagger,
    body::{self, BodyParts},
    object::{ObjectText, array_text},
    parameter, response, texts,
};

/// The most parameters that one list of them may have. Longer ones are passed on as they are.
const PARAMETER_LIMIT: usize = 1024;

/// A list of parameters, taken apart.
#[derive(Default)]
struct Inputs {
    /// What stays a list of parameters, if there is a list.
    parameters: Option<Vec<u8>>,
    body: BodyParts,
}

impl Swagger<'_> {
    pub(super) fn paths(&self, paths: &RawJson) -> Vec<u8> {
        let Ok(paths) = RawObject::try_from(paths.clone()) else { return paths.as_bytes().to_vec() };
        let mut out = ObjectText::default();
        for (path, item) in paths.iter() {
            out.set(&path, self.path_item(&item));
        }
        out.finish()
    }

    fn path_item(&self, item: &RawJson) -> Vec<u8> {
        let Ok(item) = RawObject::try_from(item.clone()) else { return item.as_bytes().to_vec() };
        let shared = self.inputs(&item);
        let mut out = ObjectText::default();
        for (name, value) in item.iter() {
            match name.as_ref() {
                "parameters" => {}
                "get" | "put" | "post" | "delete" | "options" | "head" | "patch" => {
                    out.set(&name, self.operation(&value, &shared));
                }
                _ => out.set(&name, value.as_bytes()),
            }
        }
        if let Some(parameters) = shared.parameters {
            out.set("parameters", parameters);
        }
        out.finish()
    }

    fn operation(&self, operation: &RawJson, shared: &Inputs) -> Vec<u8> {
        let Ok(operation) = RawObject::try_from(operation.clone()) else {
            return operation.as_bytes().to_vec();
        };
        let own = self.inputs(&operation);
        let consumes = texts(&operation, "consumes").unwrap_or_else(|| self.consumes.clone());
        let produces = texts(&operation, "produces").unwrap_or_else(|| self.produces.clone());
        let mut out = ObjectText::default();
        out.copy(&operation, |name| {
            !matches!(name, "parameters" | "consumes" | "produces" | "schemes" | "responses" | "requestBody")
        });
        if let Some(parameters) = own.parameters {
            out.set("parameters", parameters);
        }
        if let Some(body) = body::request_body(&own.body.over(&shared.body), &consumes) {
            out.set("requestBody", body);
        }
        if let Some(responses) = operation.get("responses") {
            out.set("responses", response::all(&responses, &self.responses, &produces));
        }
        out.finish()
    }

    fn inputs(&self, holder: &RawObject) -> Inputs {
        let Some(given) = holder.get("parameters") else { return Inputs::default() };
        let Some(items) = given.elements(PARAMETER_LIMIT) else {
            return Inputs { parameters: Some(given.into_bytes().into()), body: BodyParts::default() };
        };
        let (mut kept, mut body) = (Vec::new(), BodyParts::default());
        for item in items {
            let Ok(object) = RawObject::try_from(item.clone()) else {
                kept.push(item.into_bytes().into());
                continue;
            };
            let target = self.referred(&object);
            match target.as_ref().unwrap_or(&object) {
                of_body if parameter::is_of_body(of_body) => body.add(of_body.clone()),
                // The reference leads to the component that was made of it.
                _ if object.contains("$ref") => kept.push(item.into_bytes().into()),
                other => kept.push(parameter::converted(other)),
            }
        }
        Inputs { parameters: Some(array_text::<Vec<u8>>(kept)), body }
    }

    /// The parameter of the document that a reference leads to.
    fn referred(&self, reference: &RawObject) -> Option<RawObject> {
        let target = reference.get_text("$ref")?;
        let name = target.strip_prefix("#/parameters/")?.replace("~1", "/").replace("~0", "~");
        self.parameters.get_object(&name)
    }
}
