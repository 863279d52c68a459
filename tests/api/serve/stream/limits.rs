//! Tests limits that two servers share in a real Redis: together they allow the plan's rate, and
//! each has a fallback while Redis is away.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pubdata_store::{Keys, NewKey, Scope};

use super::program::{free_address, start};
use super::replicas::{ask, until};
use crate::serve::World;

const PATH: &str = "/v1/geo-demographics/locations/90210";

struct Redis(Child);

impl Redis {
    fn start(address: SocketAddr, folder: &Path) -> Option<Self> {
        let port = address.port().to_string();
        let mut command = Command::new("redis-server");
        command
            .args([
                "--bind",
                "127.0.0.1",
                "--port",
                &port,
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
            ])
            .arg(folder);
        match command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(child) => {
                until("Redis listens", || {
                    std::net::TcpStream::connect(address).is_ok()
                });
                Some(Self(child))
            }
            Err(error) => {
                eprintln!("skipped: redis-server cannot be started: {error}");
                None
            }
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_with_shared_limits_grant_one_plan_together() {
    let world = World::new().await;
    let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
    let Some(redis) = Redis::start(address, folder.path()) else {
        return;
    };
    let plan = |name: &str| NewKey {
        name: name.to_owned(),
        scopes: vec![Scope::Geo],
        plan: "free".to_owned(),
        expires_at: None,
    };
    let create = |name: &str| {
        Keys::open(&world.home)
            .create(plan(name), &world.plans(), jiff::Timestamp::now())
            .unwrap()
            .key
    };
    let burst = world.plans().of_key("free").unwrap().burst;
    let url = format!("redis://{address}");
    let begin = |when_unavailable: &str| {
        let server = free_address();
        (
            start(
                world.folder.path(),
                server,
                &["--limits", &url, "--limits-when-away", when_unavailable],
            ),
            server,
        )
    };
    let servers = [begin("open"), begin("closed")];
    let [open, closed] = [servers[0].1, servers[1].1];
    until("both are ready", || {
        [open, closed]
            .iter()
            .all(|server| ask(*server, PATH, &world.key).is_some_and(|(status, _)| status == 200))
    });

    let key = create("one");
    let answers: Vec<u16> = (0..burst + 4)
        .map(|turn| {
            ask([open, closed][turn as usize % 2], PATH, &key)
                .unwrap()
                .0
        })
        .collect();
    let passed = answers.iter().filter(|status| **status == 200).count() as u64;
    assert!(
        (burst..=burst + 1).contains(&passed),
        "one bucket of {burst}, which may refill by one meanwhile: {answers:?}"
    );
    assert!(
        answers.iter().all(|status| [200, 429].contains(status)) && answers.last() == Some(&429),
        "{answers:?}"
    );

    drop(redis);
    let (other, refused) = (create("other"), create("refused"));
    until("the one counts by itself", || {
        ask(open, PATH, &other).is_some_and(|(status, _)| status == 200)
    });
    until("the other refuses", || {
        ask(closed, PATH, &refused).is_some_and(|(status, _)| status == 429)
    });
    let _redis = Redis::start(address, folder.path()).unwrap();
    until("and answers again", || {
        ask(closed, PATH, &refused).is_some_and(|(status, _)| status == 200)
    });
}
