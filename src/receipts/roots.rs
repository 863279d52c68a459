//! Roots over the records of parts that are being built, made of their rows while these are in memory: such a part is not read again to be sealed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use arrow::array::RecordBatch;
use rayon::ThreadPoolBuilder;

use super::part::{root_of_rows, subjects_end};
use crate::ids::Digest;
use crate::store::Part;

/// Bytes of rows that wait at most. Who comes when they are more makes the root himself.
const WAITING_BYTES: usize = 128 << 20;

/// Of `setpriority(2)`.
#[cfg(target_os = "linux")]
const LOWEST_PRIORITY: i32 = 19;

/// What a root belongs to: the bytes, and the rule that its records were held to.
type Key = (Digest, Option<String>);

fn key(part: &Part) -> Key {
    (part.sha256, subjects_end(part).map(str::to_owned))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Roots that are known.
#[derive(Debug, Default)]
pub struct Roots(HashMap<Key, Digest>);

impl Roots {
    pub fn of(&self, part: &Part) -> Option<Digest> {
        self.0.get(&key(part)).copied()
    }
}

/// Makes roots behind a build: a build waits for files and for the slowest of its threads, and roots take what is idle meanwhile.
pub struct RootsOfRows {
    shared: Arc<Shared>,
    thread: Mutex<Option<Worker>>,
}

struct Worker {
    parts: Sender<(Part, RecordBatch)>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    roots: Mutex<HashMap<Key, Digest>>,
    waiting: AtomicUsize,
}

impl Shared {
    /// Of rows that have no root nothing is noted: who seals the part says why.
    fn make(&self, part: &Part, rows: &RecordBatch) {
        if let Ok(root) = root_of_rows(part, rows) {
            locked(&self.roots).insert(key(part), root);
        }
    }
}

/// Gives this thread the lowest priority: it gets next to nothing while another wants to run.
fn let_builders_go_first() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(Some(rustix::thread::gettid()), LOWEST_PRIORITY) {
        tracing::debug!(%error, "roots are made with the priority of a build");
    }
}

impl RootsOfRows {
    /// Begins without any.
    pub fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let (parts, receiver) = channel::<(Part, RecordBatch)>();
        let of_thread = Arc::clone(&shared);
        let work = move || {
            for (part, rows) in receiver {
                of_thread.make(&part, &rows);
                of_thread.waiting.fetch_sub(rows.get_array_memory_size(), Ordering::Relaxed);
            }
        };
        // Without threads each root is made where its rows are.
        let pool = ThreadPoolBuilder::new().thread_name(|number| format!("roots-{number}")).start_handler(|_| let_builders_go_first()).build().ok();
        let thread = pool.and_then(|pool| thread::Builder::new().name("roots".to_owned()).spawn(move || pool.install(work)).ok());
        let thread = thread.map(|thread| Worker { parts, thread });
        Self { shared, thread: Mutex::new(thread) }
    }

    /// Takes a part that is made of these rows and no other.
    pub fn add(&self, part: &Part, rows: &RecordBatch) {
        let bytes = rows.get_array_memory_size();
        let may_wait = self.shared.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes <= WAITING_BYTES;
        let is_taken = may_wait && locked(&self.thread).as_ref().is_some_and(|worker| worker.parts.send((part.clone(), rows.clone())).is_ok());
        if !is_taken {
            self.shared.waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.shared.make(part, rows);
        }
    }

    /// All of them, when those that wait are made.
    pub fn finish(&self) -> Roots {
        if let Some(Worker { parts, thread }) = locked(&self.thread).take() {
            drop(parts);
            if thread.join().is_err() {
                tracing::warn!("roots over records could not be made, and parts are read again to be sealed");
            }
        }
        Roots(std::mem::take(&mut *locked(&self.shared.roots)))
    }
}
