use std::sync::Arc;

use gateway_pipeline::limits::{Concurrency, Limit, Limits, LimitsConfig, LimitsError, Rate, Rates};

use crate::config::{Bucket, Config};

/// `None`: there is no limit.
pub(super) fn limits(config: &Config) -> Result<Option<Arc<Limits>>, LimitsError> {
    let limits = self::config(config)?;
    Ok((!limits.is_none()).then(|| Arc::new(Limits::new(limits))))
}

pub(super) fn config(config: &Config) -> Result<LimitsConfig, LimitsError> {
    let rates = &config.security.rates;
    let limit = |bucket: &Option<Bucket>| match bucket {
        Some(bucket) => rate(bucket).map(Limit::of),
        None => Ok(Limit::default()),
    };
    let mut tool = limit(&rates.per_tool)?;
    for (glob, bucket) in &rates.tools {
        tool = tool.except(glob, Some(rate(bucket)?));
    }
    let at_once = |bound: Option<usize>| bound.map_or_else(Limit::default, Limit::of);
    Ok(LimitsConfig {
        rates: Rates {
            caller: limit(&rates.per_caller)?,
            caller_tool: limit(&rates.per_caller_and_tool)?,
            tool,
            downstream: limit(&rates.per_downstream)?,
            task_polls: limit(&rates.tasks)?,
        },
        // Of requests in flight the edge has a bound for each caller already.
        at_once: Concurrency {
            caller: at_once(rates.concurrent_per_caller),
            tool: at_once(rates.concurrent_per_tool),
            downstream: at_once(rates.concurrent_per_downstream),
        },
        queue: rates.queue,
        max_wait: rates.queue_timeout,
        ..LimitsConfig::default()
    })
}

fn rate(bucket: &Bucket) -> Result<Rate, LimitsError> {
    Rate::new(bucket.per_second, bucket.burst)
}
