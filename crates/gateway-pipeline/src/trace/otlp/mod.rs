//! Spans in the JSON of OTLP over HTTP (OpenTelemetry protocol 1.x), in batches. Who sends them knows HTTP; this does
//! not.

mod body;
mod exporter;

pub use self::exporter::{OtlpConfig, OtlpCounts, OtlpExporter, SpanExport};

#[cfg(test)]
mod tests;
