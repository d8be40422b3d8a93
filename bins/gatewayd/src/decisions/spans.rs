use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gateway_egress::{Bounds, Fetch, Named};
use gateway_pipeline::trace::{
    RandomIds, Tracer,
    otlp::{OtlpConfig, OtlpExporter, SpanExport},
};
use http::{HeaderMap, HeaderValue, Request, Uri, header};

use crate::config::{Config, Telemetry};

/// What gives calls spans, and what sends them. `None`: they go nowhere.
pub(super) fn start(config: &Config, fetch: &Arc<dyn Fetch>) -> Option<(Tracer, Arc<OtlpExporter>)> {
    let telemetry = config.security.telemetry.as_ref()?;
    let resource = vec![("service.name".to_owned(), telemetry.service.clone())];
    let collector = Collector::new(telemetry, fetch.clone());
    let exporter = OtlpExporter::start(OtlpConfig { resource, ..OtlpConfig::default() }, Arc::new(collector));
    let exporter = Arc::new(exporter);
    let tracer = Tracer::new(Arc::new(RandomIds), exporter.clone()).with_ratio(telemetry.sample);
    Some((tracer, exporter))
}

/// Where spans are sent.
struct Collector {
    url: Uri,
    headers: HeaderMap,
    fetch: Arc<dyn Fetch>,
}

/// A collector says that it took something, or a sentence about why not.
const ANSWER: Bounds = Bounds { bytes: 64 << 10, time: Duration::from_secs(10) };

impl Collector {
    fn new(telemetry: &Telemetry, fetch: Arc<dyn Fetch>) -> Self {
        let value = |secret: &str| {
            let mut value = HeaderValue::from_str(secret).ok()?;
            value.set_sensitive(true);
            Some(value)
        };
        let given = telemetry.headers.iter();
        let mut headers: HeaderMap =
            given.filter_map(|(name, secret)| Some((name.clone(), value(secret.expose())?))).collect();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { url: telemetry.otlp.clone(), headers, fetch }
    }
}

#[async_trait]
impl SpanExport for Collector {
    async fn export(&self, body: Vec<u8>) -> Result<(), String> {
        let mut request =
            Request::post(self.url.clone()).body(body.into()).map_err(|error| error.to_string())?;
        *request.headers_mut() = self.headers.clone();
        let answer =
            self.fetch.fetch(request, Named::ByOperator, ANSWER).await.map_err(|error| error.to_string())?;
        match answer.status.is_success() {
            true => Ok(()),
            false => Err(format!("the collector answered {}", answer.status.as_u16())),
        }
    }
}
