//! Provides an object store for tests that implements the part of S3's protocol that the program
//! uses, and fails like S3 on request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};

/// Failure mode of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Refuses the first creation of each file with 409 `ConditionalRequestConflict`, without
    /// effect.
    Conflict,
    /// Performs the first creation of each file and answers with an error.
    LostAnswer,
    /// Answers every third request with 503.
    Unavailable,
    /// Ignores conditions.
    Unconditional,
}

/// A server of one bucket on loopback; ends with the runtime that started it.
pub struct ObjectServer {
    pub endpoint: String,
    state: Arc<Mutex<Bucket>>,
}

#[derive(Default)]
struct Bucket {
    /// Objects by key, with the time of writing in seconds.
    objects: BTreeMap<String, (Bytes, jiff::Timestamp)>,
    faults: Vec<Fault>,
    requests: u64,
    failed: BTreeSet<String>,
    /// Keys of files that were read.
    read: Vec<String>,
    /// Bytes sent for each file, as a range or whole.
    given: BTreeMap<String, usize>,
}

type Shared = Arc<Mutex<Bucket>>;

impl ObjectServer {
    pub async fn start(faults: &[Fault]) -> Self {
        let state: Shared = Arc::new(Mutex::new(Bucket {
            faults: faults.to_vec(),
            ..Bucket::default()
        }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(
            axum::serve(
                listener,
                Router::new()
                    .fallback(answer)
                    .layer(DefaultBodyLimit::disable())
                    .with_state(state.clone()),
            )
            .into_future(),
        );
        Self { endpoint, state }
    }

    /// Environment variables that point a process at the store.
    pub fn environment(&self) -> Vec<(String, String)> {
        let fixed = [
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ];
        let all = fixed.into_iter().chain([
            ("NO_PROXY", "127.0.0.1"),
            ("AWS_ENDPOINT", self.endpoint.as_str()),
        ]);
        all.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    pub fn keys(&self) -> Vec<String> {
        self.state.lock().unwrap().objects.keys().cloned().collect()
    }

    /// Bytes of a file.
    pub fn object(&self, key: &str) -> Bytes {
        self.state.lock().unwrap().objects[key].0.clone()
    }

    /// Keys of files that were read since the last call, in order.
    pub fn read(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().read)
    }

    /// Bytes sent for a file since the last call.
    pub fn given(&self, key_ending: &str) -> usize {
        let given = std::mem::take(&mut self.state.lock().unwrap().given);
        given
            .into_iter()
            .filter(|(key, _)| key.ends_with(key_ending))
            .map(|(_, bytes)| bytes)
            .sum()
    }

    /// Number of files whose creation failed on purpose.
    pub fn failed(&self) -> usize {
        self.state.lock().unwrap().failed.len()
    }
}

async fn answer(
    State(state): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let mut bucket = state.lock().unwrap();
    bucket.requests += 1;
    if bucket.faults.contains(&Fault::Unavailable) && bucket.requests.is_multiple_of(3) {
        return status(StatusCode::SERVICE_UNAVAILABLE);
    }
    let key = uri
        .path()
        .trim_start_matches("/bucket")
        .trim_start_matches('/')
        .replace("%3D", "=");
    let query = uri.query().unwrap_or_default();
    match method {
        Method::POST if query.starts_with("delete") => delete_all(&mut bucket, &body),
        Method::PUT => put(&mut bucket, key, &headers, body),
        Method::DELETE => {
            bucket.objects.remove(&key);
            status(StatusCode::NO_CONTENT)
        }
        _ if query.contains("list-type=2") => list(&bucket, query),
        _ => {
            if method == Method::GET {
                bucket.read.push(key.clone());
            }
            let answer = get(&bucket, &key, &headers, method == Method::HEAD);
            if method == Method::GET {
                let bytes = axum::body::HttpBody::size_hint(answer.body())
                    .exact()
                    .unwrap_or(0);
                *bucket.given.entry(key).or_default() += usize::try_from(bytes).unwrap();
            }
            answer
        }
    }
}

impl Bucket {
    fn put(&mut self, key: String, content: Bytes) {
        self.objects.insert(key, (content, jiff::Timestamp::now()));
    }
}

fn put(bucket: &mut Bucket, key: String, headers: &HeaderMap, body: Bytes) -> Response<Body> {
    let is_creation = headers.contains_key("if-none-match");
    let is_first = is_creation && !bucket.failed.contains(&key);
    if is_first && bucket.faults.contains(&Fault::Conflict) {
        bucket.failed.insert(key);
        return error(StatusCode::CONFLICT, "ConditionalRequestConflict");
    }
    if is_creation
        && bucket.objects.contains_key(&key)
        && !bucket.faults.contains(&Fault::Unconditional)
    {
        return error(StatusCode::PRECONDITION_FAILED, "PreconditionFailed");
    }
    let source = headers.get("x-amz-copy-source").map(|source| {
        source
            .to_str()
            .unwrap()
            .trim_start_matches("bucket/")
            .replace("%3D", "=")
    });
    let content = match source.map(|source| bucket.objects.get(&source).cloned()) {
        Some(None) => return status(StatusCode::NOT_FOUND),
        Some(Some((content, _))) => content,
        None => body,
    };
    bucket.put(key.clone(), content);
    if is_first && bucket.faults.contains(&Fault::LostAnswer) {
        bucket.failed.insert(key);
        return error(StatusCode::BAD_REQUEST, "LostAnswer");
    }
    written()
}

fn get(bucket: &Bucket, key: &str, headers: &HeaderMap, is_head: bool) -> Response<Body> {
    let Some((content, written)) = bucket.objects.get(key) else {
        return status(StatusCode::NOT_FOUND);
    };
    let modified = written.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let response = Response::builder()
        .header("etag", "\"1\"")
        .header("last-modified", modified);
    let range = headers.get("range").and_then(|range| {
        range
            .to_str()
            .unwrap()
            .strip_prefix("bytes=")?
            .split_once('-')
    });
    if let Some((begin, end)) = range.map(|(begin, end)| {
        (
            begin.parse::<usize>().unwrap(),
            end.parse::<usize>().unwrap() + 1,
        )
    }) {
        let place = format!("bytes {begin}-{}/{}", end - 1, content.len());
        return response
            .status(StatusCode::PARTIAL_CONTENT)
            .header("content-range", place)
            .body(content.slice(begin..end).into())
            .unwrap();
    }
    response
        .header("content-length", content.len())
        .body(if is_head {
            Body::empty()
        } else {
            content.clone().into()
        })
        .unwrap()
}

fn delete_all(bucket: &mut Bucket, body: &Bytes) -> Response<Body> {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let keys: Vec<&str> = text
        .split("<Key>")
        .skip(1)
        .filter_map(|rest| rest.split("</Key>").next())
        .collect();
    bucket
        .objects
        .retain(|key, _| !keys.contains(&key.as_str()));
    let deleted: String = keys
        .iter()
        .map(|key| format!("<Deleted><Key>{key}</Key></Deleted>"))
        .collect();
    xml(&format!("<DeleteResult>{deleted}</DeleteResult>"))
}

fn list(bucket: &Bucket, query: &str) -> Response<Body> {
    let parameter = |name: &str| {
        query
            .split('&')
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
            .map(|value| value.replace("%2F", "/").replace("%3D", "="))
    };
    let (prefix, delimiter) = (
        parameter("prefix").unwrap_or_default(),
        parameter("delimiter"),
    );
    let (mut contents, mut folders) = (String::new(), BTreeSet::new());
    for (key, (content, written)) in bucket
        .objects
        .iter()
        .filter(|(key, _)| key.starts_with(&prefix))
    {
        match key[prefix.len()..].split_once('/') {
            Some((folder, _)) if delimiter.is_some() => {
                folders.insert(format!(
                    "<CommonPrefixes><Prefix>{prefix}{folder}/</Prefix></CommonPrefixes>"
                ));
            }
            _ => {
                contents += &format!(
                    "<Contents><Key>{key}</Key><LastModified>{written:.0}</LastModified><ETag>1</ETag><Size>{}</Size></Contents>",
                    content.len()
                );
            }
        }
    }
    xml(&format!(
        "<ListBucketResult>{contents}{}</ListBucketResult>",
        folders.into_iter().collect::<String>()
    ))
}

fn written() -> Response<Body> {
    Response::builder()
        .header("etag", "\"1\"")
        .body(Body::from(
            "<CopyObjectResult><ETag>1</ETag></CopyObjectResult>",
        ))
        .unwrap()
}

fn xml(text: &str) -> Response<Body> {
    Response::builder()
        .header("content-type", "application/xml")
        .body(Body::from(text.to_owned()))
        .unwrap()
}

fn error(code: StatusCode, name: &str) -> Response<Body> {
    Response::builder()
        .status(code)
        .body(Body::from(format!(
            "<Error><Code>{name}</Code><Message>requested by the test</Message></Error>"
        )))
        .unwrap()
}

fn status(code: StatusCode) -> Response<Body> {
    Response::builder()
        .status(code)
        .body(Body::empty())
        .unwrap()
}
