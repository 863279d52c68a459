//! The open connections: how many there may be, in all and from one address, and which of them gives way when every place is taken:
//! the one that has waited longest for a request. Silent connections therefore never keep out someone who asks.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;

use super::peer;

/// Connections that were told to give way and are not gone yet; each still holds a descriptor.
const GIVING_WAY: usize = 32;
/// They are gone as soon as they are looked at: one that is not after so long never will be.
const GIVING_WAY_TIME: Duration = Duration::from_secs(1);

/// The open connections of one address that is listened on.
#[derive(Debug)]
pub struct Connections {
    most: usize,
    /// None where all connections come from a proxy.
    most_of_address: Option<usize>,
    state: Mutex<State>,
    gone: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Numbers that were given to connections and to the moments at which they began to wait.
    count: u64,
    open: HashMap<u64, Open>,
    /// Connections that wait for a request, by the number of that moment.
    waiting: BTreeMap<u64, u64>,
    of_addresses: HashMap<IpAddr, usize>,
    giving_way: usize,
}

#[derive(Debug)]
struct Open {
    connection: Arc<Connection>,
    /// Requests whose answer is not sent yet.
    requests: usize,
    waits_since: Option<u64>,
}

/// One connection, as its requests know it.
#[derive(Debug)]
pub struct Connection {
    id: u64,
    connections: Arc<Connections>,
    is_ended: AtomicBool,
    reader: AtomicWaker,
}

/// The place that a connection takes; given back when dropped.
#[derive(Debug)]
pub struct Place {
    pub connection: Arc<Connection>,
    address: IpAddr,
}

/// A request that is being answered; over when dropped.
#[derive(Debug)]
pub struct Busy(Option<Arc<Connection>>);

enum Admission {
    Taken(Place),
    /// Others are still about to go.
    Later,
    Refused,
}

impl Connections {
    /// Places for so many connections, and so many from one address that is not this machine's own.
    pub fn new(most: usize, most_of_address: Option<usize>) -> Self {
        Self { most, most_of_address, state: Mutex::default(), gone: Notify::new() }
    }

    /// How many are open.
    pub fn open(&self) -> usize {
        self.state().open.len()
    }

    /// Takes a place for a connection; none, when it must be closed.
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
        tokio::time::timeout(GIVING_WAY_TIME, admitted).await.ok().flatten()
    }

    fn take(self: &Arc<Self>, from: SocketAddr) -> Admission {
        let address = peer::network(from.ip());
        let mut state = self.state();
        let of_address = state.of_addresses.get(&address).copied().unwrap_or_default();
        if !from.ip().to_canonical().is_loopback() && self.most_of_address.is_some_and(|most| of_address >= most) {
            return Admission::Refused;
        }
        if state.open.len() >= self.most {
            if state.giving_way >= GIVING_WAY {
                return Admission::Later;
            }
            let Some((_, id)) = state.waiting.pop_first() else { return Admission::Refused };
            if let Some(open) = state.open.remove(&id) {
                state.giving_way += 1;
                open.connection.is_ended.store(true, Ordering::Release);
                open.connection.reader.wake();
            }
        }
        let id = state.number();
        let connection = Arc::new(Connection { id, connections: self.clone(), is_ended: AtomicBool::new(false), reader: AtomicWaker::new() });
        let since = state.number();
        state.waiting.insert(since, id);
        state.open.insert(id, Open { connection: connection.clone(), requests: 0, waits_since: Some(since) });
        *state.of_addresses.entry(address).or_default() += 1;
        Admission::Taken(Place { connection, address })
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
    /// Notes that a request has come.
    pub fn begin(self: Arc<Self>) -> Busy {
        let mut state = self.connections.state();
        let waited = state.open.get_mut(&self.id).and_then(|open| {
            open.requests += 1;
            open.waits_since.take()
        });
        if let Some(since) = waited {
            state.waiting.remove(&since);
        }
        drop(state);
        Busy(Some(self))
    }

    /// Whether it must give way to another; asked by whoever reads from it, and told when it must.
    pub fn poll_ended(&self, context: &Context<'_>) -> Poll<()> {
        self.reader.register(context.waker());
        if self.is_ended.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Busy {
    /// Notes that the connection is no longer one of requests and answers, and never waits for one again.
    pub fn stay(mut self) {
        self.0 = None;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Some(connection) = self.0.take() else { return };
        let mut state = connection.connections.state();
        let since = state.number();
        let Some(open) = state.open.get_mut(&connection.id) else { return };
        open.requests -= 1;
        if open.requests == 0 {
            open.waits_since = Some(since);
            state.waiting.insert(since, connection.id);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let connections = &self.connection.connections;
        let mut state = connections.state();
        match state.open.remove(&self.connection.id) {
            Some(open) => {
                if let Some(since) = open.waits_since {
                    state.waiting.remove(&since);
                }
            }
            None => state.giving_way -= 1,
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

    use super::{Connections, Place};

    async fn come(connections: &Arc<Connections>, from: &str) -> Option<Place> {
        connections.admit(from.parse().unwrap()).await
    }

    fn is_ended(place: &Place) -> bool {
        place.connection.is_ended.load(Ordering::Acquire)
    }

    #[tokio::test]
    async fn whoever_has_waited_longest_gives_way() {
        let connections = Arc::new(Connections::new(3, None));
        let [first, second, third] =
            [come(&connections, "192.0.2.1:1").await, come(&connections, "192.0.2.1:2").await, come(&connections, "192.0.2.1:3").await].map(Option::unwrap);
        // The first is at work, and the second has asked since the third came.
        let busy = first.connection.clone().begin();
        drop(second.connection.clone().begin());
        let fourth = come(&connections, "192.0.2.1:4").await.unwrap();
        assert_eq!([&first, &second, &third, &fourth].map(is_ended), [false, false, true, false]);
        assert_eq!(connections.open(), 3);
        drop(third);
        assert_eq!(connections.open(), 3, "it had given its place away already");
        let _at_work = [&second, &fourth].map(|place| place.connection.clone().begin());
        assert!(come(&connections, "192.0.2.1:5").await.is_none(), "nobody who is answered gives way");
        drop(busy);
        assert!(come(&connections, "192.0.2.1:5").await.is_some());
        assert!(is_ended(&first));
    }

    #[tokio::test]
    async fn sockets_of_the_stream_never_give_way() {
        let connections = Arc::new(Connections::new(1, None));
        let socket = come(&connections, "192.0.2.1:1").await.unwrap();
        socket.connection.clone().begin().stay();
        assert!(come(&connections, "192.0.2.1:2").await.is_none());
        drop(socket);
        assert!(come(&connections, "192.0.2.1:2").await.is_some());
    }

    #[tokio::test]
    async fn one_address_has_its_share_and_this_machine_has_all() {
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
        assert!(come(&connections, "192.0.2.1:3").await.is_some(), "a place is given back");
    }
}
