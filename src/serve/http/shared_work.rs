//! Runs expensive work once for all concurrent callers, with limited concurrency, and caches the
//! result. A caller waits up to a time limit. The work then continues, so that a later request
//! finds the result.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::sync::Semaphore;

use super::problem::{Code, Problem, Result};
use super::quota::{Exhausted, Quota, QuotaGuard};
use pubdata_core::error;
use pubdata_core::ids::{RecordId, ReleaseId};

/// Subject of the work: a record in a release, whose facts never change.
pub type Subject = (ReleaseId, RecordId);

/// Result of the work, or the cause of a server failure.
type Outcome<T> = std::result::Result<Arc<T>, Arc<str>>;

type Running<T> = Shared<BoxFuture<'static, Outcome<T>>>;

/// Seconds after which a rejected caller may retry.
const RETRY_SECONDS: u64 = 5;

/// Limits for one kind of work.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub at_once: usize,
    /// Maximum number of tasks that run or wait.
    pub waiting: usize,
    pub waiting_of_client: usize,
    /// Maximum number of cached results; the oldest is removed first.
    pub kept: usize,
    /// How long a caller waits.
    pub patience: Duration,
}

/// One kind of work with a result of type `T`.
pub struct SharedWork<T> {
    bounds: Bounds,
    places: Semaphore,
    waiting: Arc<Quota>,
    state: Mutex<State<T>>,
}

struct State<T> {
    running: HashMap<Subject, Running<T>>,
    kept: HashMap<Subject, Arc<T>>,
    order: VecDeque<Subject>,
}

impl<T: Send + Sync + 'static> SharedWork<T> {
    pub fn new(bounds: Bounds) -> Self {
        let waiting = Arc::new(Quota::new(bounds.waiting, bounds.waiting_of_client));
        Self {
            bounds,
            places: Semaphore::new(bounds.at_once),
            waiting,
            state: Mutex::new(State {
                running: HashMap::new(),
                kept: HashMap::new(),
                order: VecDeque::new(),
            }),
        }
    }

    /// Returns the result for a subject, from the cache or from `work`. The result is cached if
    /// `is_kept` confirms that it never changes.
    ///
    /// # Errors
    /// `busy` if too many tasks wait or the caller's time limit expires; an internal error if the
    /// work fails.
    pub async fn done(
        self: &Arc<Self>,
        client: &str,
        subject: Subject,
        is_kept: fn(&T) -> bool,
        work: impl FnOnce() -> error::Result<T> + Send + 'static,
    ) -> Result<Arc<T>> {
        let running = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(kept) = state.kept.get(&subject) {
                return Ok(kept.clone());
            }
            match state.running.get(&subject) {
                Some(running) => running.clone(),
                None => {
                    let share = self.waiting.take(client, 1).map_err(|exhausted| {
                        busy(match exhausted {
                            Exhausted::ClientLimit => "the client has reached its limit of concurrent record lookups; wait for one of them to finish",
                            Exhausted::ServerLimit => "the server has reached its limit of concurrent record lookups",
                        })
                    })?;
                    let running = self.start(subject.clone(), share, is_kept, work);
                    state.running.insert(subject, running.clone());
                    running
                }
            }
        };
        match tokio::time::timeout(self.bounds.patience, running).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(cause)) => Err(Problem::internal(&cause)),
            Err(_) => Err(busy(
                "the result is not ready yet; the work continues and is likely to be done at the next request",
            )),
        }
    }

    fn start(
        self: &Arc<Self>,
        subject: Subject,
        share: QuotaGuard,
        is_kept: fn(&T) -> bool,
        work: impl FnOnce() -> error::Result<T> + Send + 'static,
    ) -> Running<T> {
        let shared = self.clone();
        let task = tokio::spawn(async move {
            let _place = shared.places.acquire().await;
            let done = tokio::task::spawn_blocking(work).await;
            let outcome: Outcome<T> = match done {
                Ok(Ok(value)) => Ok(Arc::new(value)),
                Ok(Err(error)) => Err(error.to_string().into()),
                Err(defect) => Err(defect.to_string().into()),
            };
            shared.finish(
                &subject,
                outcome.as_ref().ok().filter(|value| is_kept(value)),
            );
            drop(share);
            outcome
        });
        task.map(|joined| joined.unwrap_or_else(|defect| Err(defect.to_string().into())))
            .boxed()
            .shared()
    }

    fn finish(&self, subject: &Subject, value: Option<&Arc<T>>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running.remove(subject);
        let Some(value) = value else { return };
        if state.kept.insert(subject.clone(), value.clone()).is_none() {
            state.order.push_back(subject.clone());
        }
        while state.order.len() > self.bounds.kept {
            if let Some(oldest) = state.order.pop_front() {
                state.kept.remove(&oldest);
            }
        }
    }
}

fn busy(detail: &str) -> Problem {
    Problem {
        retry_after: Some(RETRY_SECONDS),
        ..Problem::new(Code::Busy, detail)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use serde_json::{Value, json};

    use super::*;

    fn work(patience: Duration) -> Arc<SharedWork<Value>> {
        Arc::new(SharedWork::new(Bounds {
            at_once: 1,
            waiting: 2,
            waiting_of_client: 1,
            kept: 2,
            patience,
        }))
    }

    fn subject(number: u32) -> Subject {
        (
            "r00000000000000000000".parse().unwrap(),
            format!("geo.zcta_metric:{number}").parse().unwrap(),
        )
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn concurrent_callers_share_one_cached_result() {
        let (shared, done) = (work(Duration::from_secs(60)), Arc::new(AtomicUsize::new(0)));
        let ask = async |number: u32, is_kept: fn(&Value) -> bool| {
            let done = done.clone();
            shared
                .done("a", subject(number), is_kept, move || {
                    Ok(json!(done.fetch_add(1, Ordering::SeqCst)))
                })
                .await
                .unwrap()
        };
        let (first, second) = tokio::join!(ask(1, |_| true), ask(1, |_| true));
        assert_eq!(
            (&*first, &*second, &*ask(1, |_| true).await),
            (&json!(0), &json!(0), &json!(0))
        );
        assert_eq!(
            (
                &*ask(2, |_| false).await,
                &*ask(2, |_| true).await,
                &*ask(2, |_| true).await
            ),
            (&json!(1), &json!(2), &json!(2))
        );
        assert_eq!(&*ask(3, |_| true).await, &json!(3));
        assert_eq!(&*ask(1, |_| true).await, &json!(4), "the oldest is removed");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn caller_times_out_and_later_finds_the_result() {
        let shared = work(Duration::from_millis(20));
        let (go, wait) = channel::<()>();
        let slow = shared
            .done(
                "a",
                subject(1),
                |_| true,
                move || Ok(json!(wait.recv().is_ok())),
            )
            .await;
        let refused = |outcome: Result<Arc<Value>>| {
            outcome
                .map_err(|problem| (problem.code, problem.retry_after))
                .unwrap_err()
        };
        assert_eq!(refused(slow), (Code::Busy, Some(5)));
        let at_once = || Ok(json!("done"));
        assert_eq!(
            refused(shared.done("a", subject(2), |_| true, at_once).await),
            (Code::Busy, Some(5)),
            "one task for each client at a time"
        );
        assert_eq!(
            refused(shared.done("b", subject(2), |_| true, at_once).await),
            (Code::Busy, Some(5)),
            "the only slot is taken"
        );
        assert_eq!(
            refused(shared.done("c", subject(3), |_| true, at_once).await),
            (Code::Busy, Some(5)),
            "no further task may wait"
        );
        go.send(()).unwrap();
        let again = async |client: &str, number: u32| loop {
            if let Ok(value) = shared
                .done(
                    client,
                    subject(number),
                    |_| true,
                    || Ok(json!("made again")),
                )
                .await
            {
                break value;
            }
        };
        assert_eq!(
            (&*again("a", 1).await, &*again("b", 2).await),
            (&json!(true), &json!("done"))
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn panic_fails_the_caller_and_releases_the_slot() {
        let shared = work(Duration::from_secs(60));
        for _ in 0..3 {
            let failed = shared
                .done("a", subject(1), |_| true, || panic!("a defect"))
                .await;
            assert_eq!(failed.unwrap_err().code, Code::InternalError);
        }
        assert_eq!(
            &*shared
                .done("a", subject(1), |_| true, || Ok(json!(1)))
                .await
                .unwrap(),
            &json!(1)
        );
    }
}
