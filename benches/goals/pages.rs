use crate::Result;
use crate::corpus;
use crate::http::{Client, key_header, serve};
use crate::measure::{Figures, seconds};

const ROUNDS: usize = 40;

/// A page of each kind that the mirror's release has.
const PAGES: [(&str, &str); 13] = [
    ("start", "/"),
    ("search", "/search?q=beverly"),
    ("ZIP code", "/zip/90210"),
    ("county", "/county/06037"),
    ("state", "/state/CA"),
    ("two areas", "/compare?areas=90210,95120"),
    ("trace", "/records/geo.zcta_metric:2023:90210:population"),
    ("trace in an archive", "/records/geo.school:010000500870"),
    ("status", "/status"),
    ("dataset", "/datasets/geo.zcta_metric"),
    ("releases", "/releases"),
    ("documentation", "/docs"),
    ("an endpoint", "/docs/getLocation"),
];

/// Time of the server for each kind of page, over one connection, and its bytes.
pub fn bench() -> Result<()> {
    let home = corpus::home()?;
    let key = key_header(&home)?;
    let (_, value) = key.trim_end().split_once(": ").unwrap_or_default();
    let cookie = format!("Cookie: pubdata_key={}; pubdata_form=0123456789abcdef0123456789abcdef\r\n", value.trim_start_matches("Bearer "));
    let server = serve(&home, None, &[])?;
    let mut client = Client::connect(&server.address)?;
    for (kind, path) in PAGES {
        let (mut samples, mut bytes) = (Vec::new(), 0);
        for _ in 0..=ROUNDS {
            let (time, answer) = seconds(|| client.get(path, &cookie))?;
            if answer.status != 200 {
                return Err(format!("{path}: status {}: {}", answer.status, String::from_utf8_lossy(&answer.body)).into());
            }
            bytes = answer.body.len();
            samples.push(time * 1e3);
        }
        // The first round is not counted: it reads files of the release.
        samples.remove(0);
        println!("    {kind:<22} {}, {:.1} KB", Figures::new(samples, " ms"), bytes as f64 / 1e3);
    }
    Ok(())
}
