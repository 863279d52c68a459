use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::corpus;
use crate::http::{Client, REQUEST_ID, Server, free_address, key_header, pinned, serve};
use crate::measure::{finish, in_turn, threads};
use crate::{Result, Skipped};

const ROUNDS: usize = 5;
const SECONDS: &str = "4";
const CONNECTIONS: &str = "32";
const PATH: &str = "/v1/geo-demographics/locations/";

/// Requests per second of the profile endpoint and of nginx with the same answers as files, each on one processor; the load comes from
/// another one.
pub fn bench() -> Result<()> {
    for (program, option) in [("nginx", "-v"), ("wrk", "-v"), ("taskset", "--version")] {
        if Command::new(program).arg(option).output().is_err() {
            return Err(Skipped(format!("{program} is not installed (Debian packages nginx, wrk, util-linux)")).into());
        }
    }
    if threads() < 2 {
        return Err(Skipped("the server and its load need two processors".to_owned()).into());
    }
    let home = corpus::home()?;
    let zctas = corpus::zctas(&corpus::mirror()?)?;
    let key = key_header(&home)?;
    let server = serve(&home, Some(0), &[])?;
    let root = corpus::folder().join("nginx");
    let bytes = write_answers(&server, &key, &zctas, &root)?;
    let nginx = start_nginx(&root)?;
    compare_answers(&nginx, &zctas, &root)?;
    println!(
        "  {} ZCTA profiles, {:.1} KB on average, equal bytes from both; {CONNECTIONS} connections, uncompressed, no access log",
        zctas.len(),
        bytes as f64 / 1e3 / zctas.len() as f64
    );
    let script = root.join("load.lua");
    fs::write(&script, load_script(&zctas, &key))?;
    let pair = in_turn(ROUNDS, " requests/s", || load(&server.address, &script), || load(&nginx.address, &script))?;
    println!("    pubdata serve           {}", pair.ours);
    println!("    nginx, the same files   {}", pair.peer);
    println!("    ratio                   {}", pair.ratio);
    Ok(())
}

/// Asks for every profile and writes each answer where nginx will find it.
fn write_answers(server: &Server, key: &str, zctas: &[String], root: &Path) -> Result<usize> {
    let folder = root.join(PATH.trim_matches('/'));
    corpus::remove(root)?;
    fs::create_dir_all(&folder)?;
    let mut client = Client::connect(&server.address)?;
    let mut bytes = 0;
    for zcta in zctas {
        let answer = client.get(&format!("{PATH}{zcta}"), key)?;
        if answer.status != 200 {
            return Err(format!("{zcta}: status {}: {}", answer.status, String::from_utf8_lossy(&answer.body)).into());
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

fn start_nginx(root: &Path) -> Result<Server> {
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
    let mut command = pinned(Some(0), "nginx");
    command.arg("-p").arg(root).arg("-c").arg(file("nginx.conf"));
    Server::start(&mut command, &address, &format!("{PATH}90210"))
}

/// Asks for every ZCTA in an order that jumps about.
fn load_script(zctas: &[String], key: &str) -> String {
    let (name, value) = key.trim_end().split_once(": ").unwrap_or_default();
    let mut script = format!("local headers = {{ ['{name}'] = '{value}', ['X-Request-Id'] = '{REQUEST_ID}' }}\nlocal requests = {{\n");
    for index in 0..zctas.len() {
        let zcta = &zctas[index * 7_919 % zctas.len()];
        writeln!(script, "'{PATH}{zcta}',").expect("text can be written");
    }
    script.push_str("}\nfunction init(args) for i, path in ipairs(requests) do requests[i] = wrk.format('GET', path, headers) end end\n");
    script.push_str("local next = 0\nfunction request() next = next % #requests + 1; return requests[next] end\n");
    script
}

fn load(address: &str, script: &Path) -> Result<f64> {
    let mut command = pinned(Some(1), "wrk");
    command.args(["-t", "1", "-c", CONNECTIONS, "-d", SECONDS, "-s"]).arg(script).arg(format!("http://{address}/"));
    let printed = String::from_utf8(finish(&mut command, &[0])?.stdout)?;
    if printed.contains("Non-2xx") || printed.contains("Socket errors") {
        return Err(format!("failed answers under load:\n{printed}").into());
    }
    let rate = printed.lines().find_map(|line| line.strip_prefix("Requests/sec:")).ok_or("wrk prints no rate")?;
    Ok(rate.trim().parse()?)
}
