use std::fs;
use std::path::{Path, PathBuf};

use crate::corpus;
use crate::http::{Client, Server, free_address, key_header, pinned, serve};
use crate::load::{CONNECTIONS, Load, require};
use crate::measure::{in_turn, threads};
use crate::{Result, Skipped};

const ROUNDS: usize = 5;
const SECONDS: &str = "4";
const PATH: &str = "/v1/geo-demographics/locations/";

/// Measures requests per second of the profile endpoint, against nginx with the same answers as
/// files, each on one processor. The load comes from another processor.
pub fn bench() -> Result<()> {
    require(&[("nginx", "-v"), ("wrk", "-v"), ("taskset", "--version")])?;
    if threads() < 2 {
        return Err(Skipped("the server and its load need two processors".to_owned()).into());
    }
    let home = corpus::home()?;
    let zctas: Vec<String> = corpus::zctas(&corpus::mirror()?)?
        .into_iter()
        .step_by(3)
        .collect();
    let key = key_header(&home)?;
    let server = serve(&home, Some(0), &[])?;
    let root = corpus::folder().join("nginx");
    let bytes = write_answers(&server, &key, &zctas, &root)?;
    let nginx = start_nginx(&root, &zctas[0])?;
    compare_answers(&nginx, &zctas, &root)?;
    println!(
        "  {} profiles (every third ZCTA), {:.1} KB on average, equal bytes from both; {CONNECTIONS} connections, uncompressed, no access log",
        zctas.len(),
        bytes as f64 / 1e3 / zctas.len() as f64
    );
    // In an order without locality.
    let paths =
        (0..zctas.len()).map(|index| format!("{PATH}{}", zctas[index * 7_919 % zctas.len()]));
    let load = Load::new(root.join("load.lua"), paths, &key)?;
    let rate = |server: &Server| Ok(load.send(&server.address, SECONDS, Some(1))?.per_second);
    let pair = in_turn(ROUNDS, " requests/s", || rate(&server), || rate(&nginx))?;
    println!("    pubdata serve           {}", pair.ours);
    println!("    nginx, the same files   {}", pair.peer);
    println!("    ratio                   {}", pair.ratio);
    Ok(())
}

/// Requests every profile and writes each answer where nginx finds it.
fn write_answers(server: &Server, key: &str, zctas: &[String], root: &Path) -> Result<usize> {
    let folder = root.join(PATH.trim_matches('/'));
    corpus::remove(root)?;
    fs::create_dir_all(&folder)?;
    let mut client = Client::connect(&server.address)?;
    let mut bytes = 0;
    for zcta in zctas {
        let answer = client.get(&format!("{PATH}{zcta}"), key)?;
        if answer.status != 200 {
            return Err(format!(
                "{zcta}: status {}: {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            )
            .into());
        }
        bytes += answer.body.len();
        fs::write(folder.join(zcta), answer.body)?;
    }
    Ok(bytes)
}

fn compare_answers(nginx: &Server, zctas: &[String], root: &Path) -> Result<()> {
    let mut client = Client::connect(&nginx.address)?;
    for zcta in zctas {
        let path = format!("{PATH}{zcta}");
        let answer = client.get(&path, "")?;
        if answer.status != 200 || answer.body != fs::read(root.join(path.trim_matches('/')))? {
            return Err(format!("nginx does not give the same answer for {zcta}").into());
        }
    }
    Ok(())
}

fn start_nginx(root: &Path, first: &str) -> Result<Server> {
    let address = free_address()?;
    let file = |name: &str| -> PathBuf { root.join(name) };
    let configuration = format!(
        "daemon off; master_process off; pid {pid}; error_log {log};
        events {{ worker_connections 1024; }}
        http {{
            access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; default_type application/json;
            open_file_cache max=100000 inactive=1h; open_file_cache_valid 1h;
            server {{ listen {address}; root {root}; }}
        }}",
        pid = file("nginx.pid").display(),
        log = file("nginx.log").display(),
        root = root.display()
    );
    fs::write(file("nginx.conf"), configuration)?;
    // Open files are cached, as in an nginx tuned for speed, so it needs as many descriptors.
    let mut command = pinned(Some(0), "sh");
    command
        .args(["-c", "ulimit -n $(ulimit -Hn); exec nginx \"$@\"", "sh"])
        .arg("-p")
        .arg(root)
        .arg("-c")
        .arg(file("nginx.conf"));
    Server::start(&mut command, &address, &format!("{PATH}{first}"))
}
