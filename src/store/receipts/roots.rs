//! Computes the Merkle roots of parts during a build, from rows that are still in memory, so that
//! sealing does not need to read these parts again.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use arrow::array::RecordBatch;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::part::{root_of_rows, subjects_end};
use crate::Part;
use pubdata_core::ids::Digest;

/// Maximum size of queued rows in bytes. Beyond this limit, the caller computes the root itself.
const WAITING_BYTES: usize = 256 << 20;
/// How long the end of a build waits for the root in progress. If other processes use every
/// processor, the threads that compute roots may not run at all.
const PATIENCE: Duration = Duration::from_secs(1);

/// Key of a root: the digest of the part's bytes, and the suffix rule against which the records
/// were checked.
type Key = (Digest, Option<String>);

fn key(part: &Part) -> Key {
    (part.sha256, subjects_end(part).map(str::to_owned))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Roots computed so far.
#[derive(Debug, Default)]
pub struct Roots(HashMap<Key, Digest>);

impl Roots {
    pub fn get(&self, part: &Part) -> Option<Digest> {
        self.0.get(&key(part)).copied()
    }
}

/// Computes roots in the background during a build. A build has idle time while it waits for files
/// and for its slowest thread, and this time is used to compute roots.
pub struct BackgroundRoots {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    roots: Mutex<HashMap<Key, Digest>>,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// Queued parts. The first part is in progress or is the next to be processed.
    parts: VecDeque<(Part, RecordBatch)>,
    bytes: usize,
    has_maker: bool,
}

impl Shared {
    /// A failure is not recorded here, because sealing the part reports it.
    fn make(&self, part: &Part, rows: &RecordBatch) {
        // A panic must not affect the queued parts or the run, which may already have published.
        if let Ok(Ok(root)) = catch_unwind(AssertUnwindSafe(|| root_of_rows(part, rows))) {
            locked(&self.roots).insert(key(part), root);
        }
    }

    /// Computes one root after another until the queue is stopped.
    fn make_all(&self) {
        let is_idle = |waiting: &mut Waiting| waiting.has_maker && waiting.parts.is_empty();
        loop {
            let waiting = self
                .changed
                .wait_while(locked(&self.waiting), is_idle)
                .unwrap_or_else(PoisonError::into_inner);
            let Some((part, rows)) = waiting.parts.front().cloned() else {
                return;
            };
            drop(waiting);
            self.make(&part, &rows);
            let mut waiting = locked(&self.waiting);
            waiting.parts.pop_front();
            waiting.bytes = waiting.bytes.saturating_sub(rows.get_array_memory_size());
            self.changed.notify_all();
        }
    }
}

/// Lets this thread run only when no other thread wants to. Linux treats a processor that runs only
/// `SCHED_IDLE` threads as idle, and immediately gives it to a builder. It does not do so if the
/// threads merely have the lowest priority, and builders then queue on the other processors.
fn lower_thread_priority() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let parameter = libc::sched_param { sched_priority: 0 };
        #[expect(
            unsafe_code,
            reason = "the system's call, for which no crate in the build has a safe one"
        )]
        // SAFETY: the call reads the parameter, which outlives it, and changes only the scheduling
        // of this thread (0).
        let is_set =
            unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameter) } == 0;
        if !is_set {
            tracing::debug!(error = %std::io::Error::last_os_error(), "roots are made with the priority of a build");
        }
    }
}

fn background() -> Option<ThreadPool> {
    ThreadPoolBuilder::new()
        .thread_name(|number| format!("roots-{number}"))
        .start_handler(|_| lower_thread_priority())
        .build()
        .ok()
}

impl BackgroundRoots {
    /// Starts the background thread.
    pub fn start() -> Self {
        let shared = Arc::new(Shared {
            waiting: Mutex::new(Waiting {
                has_maker: true,
                ..Waiting::default()
            }),
            ..Shared::default()
        });
        let of_thread = Arc::clone(&shared);
        let start = |pool: ThreadPool| {
            thread::Builder::new()
                .name("roots".to_owned())
                .spawn(move || pool.install(|| of_thread.make_all()))
                .ok()
        };
        // If no thread can be started, `add` computes each root itself.
        locked(&shared.waiting).has_maker = background().and_then(start).is_some();
        Self { shared }
    }

    /// Queues a part that consists of exactly these rows.
    pub fn add(&self, part: &Part, rows: &RecordBatch) {
        let bytes = rows.get_array_memory_size();
        let mut waiting = locked(&self.shared.waiting);
        if waiting.has_maker && waiting.bytes + bytes <= WAITING_BYTES {
            waiting.bytes += bytes;
            waiting.parts.push_back((part.clone(), rows.clone()));
            self.shared.changed.notify_all();
        } else {
            drop(waiting);
            self.shared.make(part, rows);
        }
    }

    /// Computes the queued roots on this thread, waits for the root in progress, and returns all
    /// roots.
    pub fn finish(&self) -> Roots {
        self.finish_within(PATIENCE)
    }

    fn finish_within(&self, patience: Duration) -> Roots {
        let others = {
            let mut waiting = locked(&self.shared.waiting);
            waiting.has_maker = false;
            self.shared.changed.notify_all();
            let first = waiting.parts.len().min(1);
            waiting.parts.split_off(first)
        };
        others
            .into_iter()
            .for_each(|(part, rows)| self.shared.make(&part, &rows));
        let is_left = |waiting: &mut Waiting| !waiting.parts.is_empty();
        let (waiting, _) = self
            .shared
            .changed
            .wait_timeout_while(locked(&self.shared.waiting), patience, is_left)
            .unwrap_or_else(PoisonError::into_inner);
        let left = waiting.parts.front().cloned();
        drop(waiting);
        if let Some((part, rows)) = left {
            self.shared.make(&part, &rows);
        }
        Roots(std::mem::take(&mut *locked(&self.shared.roots)))
    }
}

impl Drop for BackgroundRoots {
    /// Discards the queue, because a failed run does not seal anything.
    fn drop(&mut self) {
        let mut waiting = locked(&self.shared.waiting);
        waiting.has_maker = false;
        waiting.parts.clear();
        self.shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use arrow::array::{ArrayRef, StringArray};

    use super::*;
    use crate::PartReport;

    fn part(path: &str, rows: &RecordBatch) -> Part {
        Part {
            path: path.to_owned(),
            task_id: "a.task".to_owned(),
            partition: BTreeMap::new(),
            rows: rows.num_rows() as u64,
            size_bytes: 1,
            sha256: Digest::sha256(path.as_bytes()),
            key_range: None,
            fingerprint: None,
            report: PartReport::default(),
        }
    }

    fn three_rows() -> RecordBatch {
        let ids: ArrayRef = Arc::new(StringArray::from(vec![
            "a.dataset:1",
            "a.dataset:2",
            "a.dataset:3",
        ]));
        RecordBatch::try_from_iter([("record_id", ids)]).unwrap()
    }

    #[test]
    fn roots_are_computed_in_the_background() {
        let (roots, rows) = (BackgroundRoots::start(), three_rows());
        let part = part("one", &rows);
        roots.add(&part, &rows);
        let is_left = |waiting: &mut Waiting| !waiting.parts.is_empty();
        let (waiting, waited) = roots
            .shared
            .changed
            .wait_timeout_while(
                locked(&roots.shared.waiting),
                Duration::from_secs(60),
                is_left,
            )
            .unwrap();
        assert!(!waited.timed_out() && waiting.bytes == 0);
        assert_eq!(
            locked(&roots.shared.roots).get(&key(&part)),
            Some(&root_of_rows(&part, &rows).unwrap())
        );
    }

    #[test]
    fn what_waits_for_threads_that_never_run_is_made_at_the_end() {
        let rows = three_rows();
        let shared = Shared {
            waiting: Mutex::new(Waiting {
                has_maker: true,
                ..Waiting::default()
            }),
            ..Shared::default()
        };
        let roots = BackgroundRoots {
            shared: Arc::new(shared),
        };
        let parts = ["one", "two", "three"].map(|path| part(path, &rows));
        parts.iter().for_each(|part| roots.add(part, &rows));
        assert_eq!(
            locked(&roots.shared.waiting).parts.len(),
            3,
            "nothing was made yet"
        );
        let made = roots.finish_within(Duration::ZERO);
        assert!(
            parts
                .iter()
                .all(|part| made.get(part) == Some(root_of_rows(part, &rows).unwrap()))
        );
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn root_threads_run_at_idle_priority() {
        let stat = background()
            .unwrap()
            .install(|| std::fs::read_to_string("/proc/thread-self/stat"))
            .unwrap();
        // Source: proc_pid_stat(5): field 41 is the policy; the name, field 2, is in parentheses.
        let policy = stat
            .rsplit_once(") ")
            .unwrap()
            .1
            .split(' ')
            .nth(41 - 3)
            .unwrap();
        assert_eq!(policy, libc::SCHED_IDLE.to_string(), "{stat}");
    }
}
