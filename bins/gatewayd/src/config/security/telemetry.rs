//! `[telemetry]`: where spans go.

use super::model::Telemetry;
use crate::config::problem::Fault;
use crate::config::reach;
use crate::config::reader::Table;
use crate::config::scalar::{self, number};

pub(super) fn read(top: &mut Table<'_>) -> Option<Telemetry> {
    if !top.has("telemetry") {
        top.table("telemetry").finish();
        return None;
    }
    let mut table = top.table("telemetry");
    let otlp = table.take("otlp");
    if otlp.is_none() {
        let fault = Fault::new("does not say where spans go");
        table.report(fault.hint("write otlp = \"http://127.0.0.1:4318/v1/traces\""));
    }
    let url = otlp.as_ref().and_then(|item| item.parsed(reach::url));
    let headers = table.take("headers").and_then(|item| item.table());
    let telemetry = Telemetry {
        otlp: http::Uri::default(),
        headers: headers.map(|table| reach::headers(table, reach::is_ours)).unwrap_or_default(),
        service: table.read("service", scalar::word).unwrap_or_else(|| "gatewayd".to_owned()),
        sample: table.read("sample", number(0.0..=1.0)).unwrap_or(1.0),
    };
    table.finish();
    Some(Telemetry { otlp: url?, ..telemetry })
}
