use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// So many bytes, all of them the same.
    Data(usize),
    /// Nothing for so many seconds.
    Wait(u64),
    Trailers,
    Break,
    /// For ever.
    Endless(usize),
}

use Step::{Break, Data, Endless, Trailers, Wait};

/// A body that keeps to a script.
struct Scripted {
    steps: VecDeque<Step>,
    announced: Option<u64>,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = ClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ClientError>>> {
        if let Some(waiting) = &mut self.waiting {
            ready!(waiting.as_mut().poll(context));
            self.waiting = None;
        }
        let Some(step) = self.steps.pop_front() else { return Poll::Ready(None) };
        let data = |length| Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b'x'; length])))));
        match step {
            Data(length) => data(length),
            Endless(length) => {
                self.steps.push_front(step);
                data(length)
            }
            Trailers => Poll::Ready(Some(Ok(Frame::trailers(Default::default())))),
            Break => Poll::Ready(Some(Err(broke()))),
            Wait(seconds) => {
                self.waiting = Some(Box::pin(sleep(Duration::from_secs(seconds))));
                self.poll_frame(context)
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.announced.map(SizeHint::with_exact).unwrap_or_default()
    }
}

fn broke() -> ClientError {
    ClientError { reason: "it broke".into(), is_unsent: false }
}

async fn read(
    steps: &[Step],
    announced: Option<u64>,
    is_stream: bool,
) -> Result<(usize, Option<u64>), Broken> {
    let body = Scripted { steps: steps.iter().copied().collect(), announced, waiting: None };
    let until = Instant::now() + Duration::from_secs(30);
    let taken = Wanted { keep: 100, until, is_stream }.read(body.boxed_unsync()).await?;
    Ok((taken.body.len(), taken.total))
}

#[tokio::test(start_paused = true)]
async fn as_much_is_kept_as_is_wanted_and_the_rest_is_counted() {
    let long = MAX_BODY_BYTES as u64;
    for (steps, announced, expected) in [
        (&[][..], None, Ok((0, Some(0)))),
        (&[Data(40)], None, Ok((40, Some(40)))),
        (&[Data(40), Trailers], Some(40), Ok((40, Some(40)))),
        (&[Data(40), Data(0), Data(60)], None, Ok((100, Some(100)))),
        (&[Data(40), Data(40), Data(40), Data(40)], None, Ok((100, Some(160)))),
        (&[Data(101)], None, Ok((100, Some(101)))),
        (&[Data(101), Wait(20), Data(1)], None, Ok((100, Some(102)))),
        // What is announced need not be read to be known.
        (&[Data(101), Wait(50)], Some(long), Ok((100, Some(long)))),
        (&[Data(1000), Endless(1 << 20)], None, Ok((100, None))),
        (&[Endless(100_000)], None, Ok((100, None))),
        (&[Data(40), Wait(20), Data(40), Wait(20)], None, Err(Broken::Late)),
        (&[Wait(31)], None, Err(Broken::Late)),
        (&[Data(100), Wait(31)], None, Err(Broken::Late)),
        (&[Data(40), Break], None, Err(Broken::Off(broke()))),
        (&[Break], Some(7), Err(Broken::Off(broke()))),
        // What is only counted cannot spoil what is kept.
        (&[Data(140), Break], None, Ok((100, None))),
        (&[Data(140), Break], Some(200), Ok((100, Some(200)))),
        (&[Data(140), Wait(31)], None, Ok((100, None))),
    ] {
        assert_eq!(read(steps, announced, false).await, expected, "for {steps:?} of {announced:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_what_there_is_in_time() {
    for (steps, expected) in [
        (&[Data(40), Wait(20), Data(40), Wait(20)][..], (80, None)),
        (&[Wait(31)], (0, None)),
        (&[Data(40)], (40, Some(40))),
        (&[Data(40), Break], (40, None)),
        (&[Data(140), Wait(31)], (100, None)),
        (&[Endless(1)], (100, None)),
    ] {
        let begun = Instant::now();
        assert_eq!(read(steps, None, true).await, Ok(expected), "for {steps:?}");
        assert!(begun.elapsed() <= Duration::from_secs(31), "for {steps:?}");
    }
}

#[tokio::test]
async fn a_body_in_one_piece_is_not_copied() {
    let bytes = Bytes::from_static(b"all of it");
    let body = http_body_util::Full::new(bytes.clone()).map_err(|never| match never {}).boxed_unsync();
    let until = Instant::now() + Duration::from_secs(1);
    let taken = Wanted { keep: 100, until, is_stream: false }.read(body).await.unwrap();
    assert_eq!(taken.body.as_ptr(), bytes.as_ptr());
}
