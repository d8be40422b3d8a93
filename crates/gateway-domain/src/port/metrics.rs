/// Something that has figures to show on the page of metrics.
pub trait MetricsSource: Send + Sync {
    /// Appends its families in the text format of Prometheus, without an end marker.
    fn write(&self, page: &mut String);
}
