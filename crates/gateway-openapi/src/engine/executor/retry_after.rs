use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};

/// How long the API wants to be left alone (RFC 9110 §10.2.3). A date counts from the answer's own `Date`, so that
/// clocks need not agree. `None`: it says nothing, or nothing that can be read, or a time that is over.
pub(super) fn read(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = text.parse().unwrap_or(u64::MAX);
        return (seconds > 0).then(|| Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let date = headers.get(header::DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    until.duration_since(date.unwrap_or(now)).ok().filter(|wait| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood() {
        let now = httpdate::parse_http_date("Mon, 30 Nov 2026 20:00:00 GMT").unwrap();
        for (value, date, seconds) in [
            ("1", None, Some(1)),
            (" 120 ", None, Some(120)),
            ("0", None, None),
            ("99999999999999999999999999", None, Some(u64::MAX)),
            ("Mon, 30 Nov 2026 20:01:30 GMT", None, Some(90)),
            ("Monday, 30-Nov-26 20:01:30 GMT", None, Some(90)),
            ("Mon, 30 Nov 2026 20:01:30 GMT", Some("Mon, 30 Nov 2026 20:01:00 GMT"), Some(30)),
            ("Mon, 30 Nov 2026 20:01:30 GMT", Some("yesterday"), Some(90)),
            ("Mon, 30 Nov 2026 19:59:59 GMT", None, None),
            ("Mon, 30 Nov 2026 20:00:00 GMT", None, None),
            ("soon", None, None),
            ("-1", None, None),
            ("1.5", None, None),
            ("", None, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, value.parse().unwrap());
            if let Some(date) = date {
                headers.insert(header::DATE, date.parse().unwrap());
            }
            assert_eq!(read(&headers, now), seconds.map(Duration::from_secs), "for {value:?} at {date:?}");
        }
        assert_eq!(read(&HeaderMap::new(), now), None);
    }
}
