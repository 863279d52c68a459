//! Tracks the open connections and limits their number, in total and per address. When every slot
//! is taken, a new connection evicts the connection that has waited longest for its client.
//! Connections without an API key are evicted first. Slow clients therefore never block a new
//! request.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;

use super::peer;

/// Maximum number of evicted connections that are not closed yet. Each such connection still holds
/// a file descriptor.
const MAX_EVICTING: usize = 32;
/// How long a new connection waits for evicted connections to close. They close as soon as they are
/// polled; a connection that is still open after this time will not close.
const EVICTION_TIMEOUT: Duration = Duration::from_secs(1);

/// Open connections on one listening address.
#[derive(Debug)]
pub struct Connections {
    most: usize,
    /// Maximum number of connections from one address, or `None` if all connections come from a
    /// proxy.
    limit_per_address: Option<usize>,
    state: Mutex<State>,
    gone: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Counter for connection ids and for the moments at which connections began to wait.
    count: u64,
    open: HashMap<u64, Open>,
    /// Connections that wait for their clients, in the order of eviction.
    waiting: BTreeMap<Turn, u64>,
    of_addresses: HashMap<IpAddr, usize>,
    evicting: usize,
}

/// Position in the eviction order: the rank, then the counter value at which the wait began.
type Turn = (EvictionRank, u64);

/// Eviction rank of a connection that waits for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvictionRank {
    /// The connection waits for a request, or for a client without a key to send a body or take an
    /// answer.
    First,
    /// The connection waits for a client with a key to send a body or take an answer.
    Last,
}

/// Stage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The server is working on the request; the connection is never evicted.
    AtWork,
    /// The request waits for its client.
    Waits(EvictionRank),
}

#[derive(Debug)]
struct Open {
    connection: Arc<Connection>,
    at_work: usize,
    /// Number of requests that wait for a client with a key.
    waiting_with_key: usize,
    turn: Option<Turn>,
}

impl Open {
    /// Returns the counter of requests at a stage, or `None` if the stage is not counted.
    fn count(&mut self, stage: Stage) -> Option<&mut usize> {
        match stage {
            Stage::AtWork => Some(&mut self.at_work),
            Stage::Waits(EvictionRank::Last) => Some(&mut self.waiting_with_key),
            Stage::Waits(EvictionRank::First) => None,
        }
    }
}

/// Handle through which requests access their connection.
#[derive(Debug)]
pub struct Connection {
    id: u64,
    connections: Arc<Connections>,
    is_ended: AtomicBool,
    reader: AtomicWaker,
}

/// Slot for a connection, which is released when this guard is dropped.
#[derive(Debug)]
pub struct Place {
    pub connection: Arc<Connection>,
    address: IpAddr,
}

/// Guard for an active request. The request is active until its answer is taken; dropping the guard
/// ends it.
#[derive(Debug)]
pub struct Busy {
    connection: Option<Arc<Connection>>,
    stage: Stage,
}

/// Guard for the period in which a request waits for its body. Dropping the guard ends the period.
#[derive(Debug)]
pub struct BodyWait {
    connection: Arc<Connection>,
    rank: EvictionRank,
}

enum Admission {
    Taken(Place),
    /// No slot is free yet, because evicted connections are still closing.
    Later,
    Refused,
}

impl Connections {
    /// Creates slots for `most` connections. Each address other than loopback may use at most
    /// `limit_per_address` of them.
    pub fn new(most: usize, limit_per_address: Option<usize>) -> Self {
        Self {
            most,
            limit_per_address,
            state: Mutex::default(),
            gone: Notify::new(),
        }
    }

    /// Returns the number of open connections.
    pub fn open(&self) -> usize {
        self.state().open.len()
    }

    /// Takes a slot for a connection. Returns `None` if the connection must be closed.
    pub async fn admit(self: &Arc<Self>, from: SocketAddr) -> Option<Place> {
        let admitted = async {
            loop {
                let gone = self.gone.notified();
                match self.take(from) {
                    Admission::Taken(place) => return Some(place),
                    Admission::Refused => return None,
                    Admission::Later => gone.await,
                }
            }
        };
        tokio::time::timeout(EVICTION_TIMEOUT, admitted)
            .await
            .ok()
            .flatten()
    }

    fn take(self: &Arc<Self>, from: SocketAddr) -> Admission {
        let address = peer::network(from.ip());
        let mut state = self.state();
        let of_address = state
            .of_addresses
            .get(&address)
            .copied()
            .unwrap_or_default();
        if !from.ip().to_canonical().is_loopback()
            && self
                .limit_per_address
                .is_some_and(|most| of_address >= most)
        {
            return Admission::Refused;
        }
        if state.open.len() >= self.most {
            if state.evicting >= MAX_EVICTING {
                return Admission::Later;
            }
            let Some((_, id)) = state.waiting.pop_first() else {
                return Admission::Refused;
            };
            if let Some(open) = state.open.remove(&id) {
                state.evicting += 1;
                open.connection.is_ended.store(true, Ordering::Release);
                open.connection.reader.wake();
            }
        }
        let id = state.number();
        let connection = Arc::new(Connection {
            id,
            connections: self.clone(),
            is_ended: AtomicBool::new(false),
            reader: AtomicWaker::new(),
        });
        let turn = (EvictionRank::First, state.number());
        state.waiting.insert(turn, id);
        state.open.insert(
            id,
            Open {
                connection: connection.clone(),
                at_work: 0,
                waiting_with_key: 0,
                turn: Some(turn),
            },
        );
        *state.of_addresses.entry(address).or_default() += 1;
        Admission::Taken(Place {
            connection,
            address,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}

impl Connection {
    /// Records that a request has arrived.
    pub fn begin(self: Arc<Self>) -> Busy {
        self.change_stage(None, Some(Stage::AtWork));
        Busy {
            connection: Some(self),
            stage: Stage::AtWork,
        }
    }

    /// Records that a request waits for its body. The connection may be evicted while it waits.
    pub fn await_body(self: Arc<Self>, rank: EvictionRank) -> BodyWait {
        self.change_stage(Some(Stage::AtWork), Some(Stage::Waits(rank)));
        BodyWait {
            connection: self,
            rank,
        }
    }

    /// Reports whether the connection is evicted. Readers and writers poll this and are woken on
    /// eviction.
    pub fn poll_evicted(&self, context: &Context<'_>) -> Poll<()> {
        self.reader.register(context.waker());
        if self.is_ended.load(Ordering::Acquire) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Moves a request from one stage to another, and moves the connection to the end of the
    /// eviction order within its rank.
    fn change_stage(&self, from: Option<Stage>, to: Option<Stage>) {
        let mut state = self.connections.state();
        let since = state.number();
        let State { open, waiting, .. } = &mut *state;
        let Some(known) = open.get_mut(&self.id) else {
            return;
        };
        if let Some(count) = from.and_then(|stage| known.count(stage)) {
            *count -= 1;
        }
        if let Some(count) = to.and_then(|stage| known.count(stage)) {
            *count += 1;
        }
        if let Some(turn) = known.turn.take() {
            waiting.remove(&turn);
        }
        if known.at_work == 0 {
            let turn = (
                if known.waiting_with_key > 0 {
                    EvictionRank::Last
                } else {
                    EvictionRank::First
                },
                since,
            );
            known.turn = Some(turn);
            waiting.insert(turn, self.id);
        }
    }
}

impl Busy {
    /// Records that the connection no longer serves requests, for example after an upgrade. The
    /// connection is then never evicted.
    pub fn stay(mut self) {
        self.connection = None;
    }

    /// Records that the answer is ready and that the request now waits only for its client. Keep
    /// the returned guard until the client has taken the answer. Returns `None` if the rank changes
    /// nothing.
    pub fn answered(mut self, rank: EvictionRank) -> Option<Self> {
        if rank == EvictionRank::First {
            return None;
        }
        if let Some(connection) = &self.connection {
            connection.change_stage(Some(self.stage), Some(Stage::Waits(rank)));
        }
        self.stage = Stage::Waits(rank);
        Some(self)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.change_stage(Some(self.stage), None);
        }
    }
}

impl Drop for BodyWait {
    fn drop(&mut self) {
        self.connection
            .change_stage(Some(Stage::Waits(self.rank)), Some(Stage::AtWork));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let connections = &self.connection.connections;
        let mut state = connections.state();
        match state.open.remove(&self.connection.id) {
            Some(open) => {
                if let Some(turn) = open.turn {
                    state.waiting.remove(&turn);
                }
            }
            None => state.evicting -= 1,
        }
        if let Some(count) = state.of_addresses.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                state.of_addresses.remove(&self.address);
            }
        }
        drop(state);
        connections.gone.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use super::{Connections, EvictionRank, Place};

    async fn come(connections: &Arc<Connections>, from: &str) -> Option<Place> {
        connections.admit(from.parse().unwrap()).await
    }

    fn is_ended(place: &Place) -> bool {
        place.connection.is_ended.load(Ordering::Acquire)
    }

    #[tokio::test]
    async fn longest_waiting_connection_is_evicted() {
        let connections = Arc::new(Connections::new(3, None));
        let [first, second, third] = [
            come(&connections, "192.0.2.1:1").await,
            come(&connections, "192.0.2.1:2").await,
            come(&connections, "192.0.2.1:3").await,
        ]
        .map(Option::unwrap);
        // The first connection is at work, and the second has sent a request since the third
        // arrived.
        let busy = first.connection.clone().begin();
        drop(second.connection.clone().begin());
        let fourth = come(&connections, "192.0.2.1:4").await.unwrap();
        assert_eq!(
            [&first, &second, &third, &fourth].map(is_ended),
            [false, false, true, false]
        );
        assert_eq!(connections.open(), 3);
        drop(third);
        assert_eq!(connections.open(), 3, "its slot was already released");
        let _at_work = [&second, &fourth].map(|place| place.connection.clone().begin());
        assert!(
            come(&connections, "192.0.2.1:5").await.is_none(),
            "a connection with an active request is not evicted"
        );
        drop(busy);
        assert!(come(&connections, "192.0.2.1:5").await.is_some());
        assert!(is_ended(&first));
    }

    #[tokio::test]
    async fn waiting_connections_without_a_key_are_evicted_first() {
        let connections = Arc::new(Connections::new(5, None));
        let mut places = Vec::new();
        for port in 1..=5 {
            places.push(
                come(&connections, &format!("192.0.2.1:{port}"))
                    .await
                    .unwrap(),
            );
        }
        let begin = |number: usize| places[number].connection.clone().begin();
        let (_at_work, keyed, _body, answer, body) =
            (begin(0), begin(1), begin(2), begin(3), begin(4));
        let _keyed_answer = keyed.answered(EvictionRank::Last);
        let _keyed_body = places[2].connection.clone().await_body(EvictionRank::Last);
        assert!(answer.answered(EvictionRank::First).is_none());
        let _strangers_body = places[4].connection.clone().await_body(EvictionRank::First);
        let mut order = Vec::new();
        for port in 6..=9 {
            let newcomer = come(&connections, &format!("192.0.2.1:{port}"))
                .await
                .unwrap();
            newcomer.connection.clone().begin().stay();
            order.extend(
                (0..5)
                    .filter(|number| is_ended(&places[*number]) && !order.contains(number))
                    .collect::<Vec<_>>(),
            );
            places.push(newcomer);
        }
        assert_eq!(order, [3, 4, 1, 2]);
        assert!(
            come(&connections, "192.0.2.1:10").await.is_none(),
            "a connection with an active request is never evicted"
        );
        drop(body);
    }

    #[tokio::test]
    async fn received_body_protects_the_connection() {
        let connections = Arc::new(Connections::new(1, None));
        let place = come(&connections, "192.0.2.1:1").await.unwrap();
        let busy = place.connection.clone().begin();
        drop(place.connection.clone().await_body(EvictionRank::First));
        assert!(come(&connections, "192.0.2.1:2").await.is_none());
        drop(busy);
        assert!(come(&connections, "192.0.2.1:2").await.is_some() && is_ended(&place));
    }

    #[tokio::test]
    async fn stream_sockets_are_never_evicted() {
        let connections = Arc::new(Connections::new(1, None));
        let socket = come(&connections, "192.0.2.1:1").await.unwrap();
        socket.connection.clone().begin().stay();
        assert!(come(&connections, "192.0.2.1:2").await.is_none());
        drop(socket);
        assert!(come(&connections, "192.0.2.1:2").await.is_some());
    }

    #[tokio::test]
    async fn address_limit_applies_except_to_loopback() {
        let connections = Arc::new(Connections::new(100, Some(2)));
        let mut kept = Vec::new();
        for (from, is_in) in [
            ("192.0.2.1:1", true),
            ("192.0.2.1:2", true),
            ("192.0.2.1:3", false),
            ("[::ffff:192.0.2.1]:4", false),
            ("[2001:db8::1]:1", true),
            ("[2001:db8::2]:1", true),
            ("[2001:db8::3]:1", false),
            ("[2001:db8:0:1::3]:1", true),
            ("127.0.0.1:1", true),
            ("127.0.0.1:2", true),
            ("127.0.0.1:3", true),
        ] {
            let place = come(&connections, from).await;
            assert_eq!(place.is_some(), is_in, "{from}");
            kept.extend(place);
        }
        kept.remove(0);
        assert!(
            come(&connections, "192.0.2.1:3").await.is_some(),
            "the slot is released"
        );
    }
}
