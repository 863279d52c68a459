//! Writes code samples that call an endpoint from a shell, Python, JavaScript or R. The samples
//! read the key from `PUBDATA_KEY`. A test runs them.

use std::fmt::Write;

use serde_json::Value;

use super::examples::ExampleRequest;

/// Code sample that sends a request, in one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSample {
    /// Language name that syntax highlighters use.
    pub lang: &'static str,
    /// Language name for display.
    pub label: &'static str,
    pub source: String,
}

/// Returns one sample per language. `own_url` is the server's URL.
pub fn for_request(request: &ExampleRequest, own_url: &str) -> [CodeSample; 4] {
    let own_url = own_url.trim_end_matches('/');
    [
        CodeSample {
            lang: "shell",
            label: "curl",
            source: curl(request, own_url),
        },
        CodeSample {
            lang: "python",
            label: "Python",
            source: python(request, own_url),
        },
        CodeSample {
            lang: "javascript",
            label: "JavaScript",
            source: javascript(request, own_url),
        },
        CodeSample {
            lang: "r",
            label: "R",
            source: r(request, own_url),
        },
    ]
}

fn curl(request: &ExampleRequest, own_url: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut lines = vec![format!(
        "curl {}",
        quoted(&format!("{own_url}{}", request.target()))
    )];
    // With `-d`, curl sends POST without `-X`.
    if request.method != "GET" && request.body.is_none() {
        lines.push(format!("-X {}", request.method));
    }
    if request.needs_key {
        lines.push("-H \"X-API-Key: $PUBDATA_KEY\"".to_owned());
    }
    if let Some(body) = &request.body {
        lines.push("-H 'Content-Type: application/json'".to_owned());
        lines.push(format!("-d {}", quoted(&body.to_string())));
    }
    lines.join(" \\\n  ")
}

/// Writes the Python sample. It uses `requests`, which most users have installed.
fn python(request: &ExampleRequest, own_url: &str) -> String {
    let mut text = String::new();
    text += if request.needs_key {
        "import os\n\nimport requests\n\n"
    } else {
        "import requests\n\n"
    };
    let _ = writeln!(
        text,
        "answer = requests.{}(\n    {},",
        request.method.to_ascii_lowercase(),
        quoted(&format!("{own_url}{}", request.path))
    );
    if !request.query.is_empty() {
        let pairs: Vec<String> = request
            .query
            .iter()
            .map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)))
            .collect();
        let _ = writeln!(text, "    params={{{}}},", pairs.join(", "));
    }
    if request.needs_key {
        text += "    headers={\"X-API-Key\": os.environ[\"PUBDATA_KEY\"]},\n";
    }
    if let Some(body) = &request.body {
        let _ = writeln!(text, "    json={},", python_value(body));
    }
    text += "    timeout=30,\n)\nanswer.raise_for_status()\nprint(answer.json()";
    text += if request.is_document {
        ")"
    } else {
        "[\"data\"])"
    };
    text
}

fn python_value(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => format!(
            "[{}]",
            items
                .iter()
                .map(python_value)
                .collect::<Vec<_>>()
                .join(", ")
        ),
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, member)| format!("{}: {}", quoted(name), python_value(member)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

/// Writes the JavaScript sample, an ES module. It uses `fetch`, which browsers and Node share.
fn javascript(request: &ExampleRequest, own_url: &str) -> String {
    let mut headers = Vec::new();
    if request.needs_key {
        headers.push("\"X-API-Key\": process.env.PUBDATA_KEY");
    }
    if request.body.is_some() {
        headers.push("\"Content-Type\": \"application/json\"");
    }
    let mut options = String::new();
    if request.method != "GET" {
        let _ = writeln!(options, "  method: {},", quoted(request.method));
    }
    if !headers.is_empty() {
        let _ = writeln!(options, "  headers: {{ {} }},", headers.join(", "));
    }
    if let Some(body) = &request.body {
        let _ = writeln!(options, "  body: JSON.stringify({body}),");
    }
    let options = if options.is_empty() {
        options
    } else {
        format!(", {{\n{options}}}")
    };
    let url = quoted(&format!("{own_url}{}", request.target()));
    let shown = if request.is_document {
        "console.log(await answer.json());"
    } else {
        "const { data } = await answer.json();\nconsole.log(data);"
    };
    format!(
        "const answer = await fetch({url}{options});\nif (!answer.ok) throw new Error(await answer.text());\n{shown}"
    )
}

/// Writes the R sample, which uses `httr2`.
fn r(request: &ExampleRequest, own_url: &str) -> String {
    let mut steps = vec![format!(
        "request({})",
        quoted(&format!("{own_url}{}", request.path))
    )];
    if !request.query.is_empty() {
        let pairs: Vec<String> = request
            .query
            .iter()
            .map(|(name, value)| format!("{name} = {}", quoted(value)))
            .collect();
        steps.push(format!("req_url_query({})", pairs.join(", ")));
    }
    if request.needs_key {
        steps.push("req_headers(`X-API-Key` = Sys.getenv(\"PUBDATA_KEY\"))".to_owned());
    }
    if request.method != "GET" && request.body.is_none() {
        steps.push(format!("req_method({})", quoted(request.method)));
    }
    if let Some(body) = &request.body {
        steps.push(format!(
            "req_body_raw(r\"---({body})---\", type = \"application/json\")"
        ));
    }
    steps.extend(["req_perform()".to_owned(), "resp_body_json()".to_owned()]);
    let shown = if request.is_document {
        "answer"
    } else {
        "answer$data"
    };
    format!(
        "library(httr2)\n\nanswer <- {}\nstr({shown})",
        steps.join(" |>\n  ")
    )
}

/// Quotes a string in a form that Python, JavaScript and R all accept.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ExampleRequest, for_request};

    #[test]
    fn request_has_code_samples_in_four_languages() {
        let request = ExampleRequest {
            method: "POST",
            path: "/v1/things/a%20b".to_owned(),
            query: vec![("q".to_owned(), "it's \"5\" & [more]".to_owned())],
            body: Some(json!({"name": "d'Or", "is_new": true, "size": null, "parts": [1, 2.5]})),
            needs_key: true,
            is_document: false,
        };
        let [curl, python, javascript, r] =
            for_request(&request, "https://data.example.org/").map(|sample| sample.source);
        assert_eq!(
            curl,
            "curl 'https://data.example.org/v1/things/a%20b?q=it%27s%20%225%22%20%26%20%5Bmore%5D' \\\n  -H \"X-API-Key: $PUBDATA_KEY\" \\\n  \
             -H 'Content-Type: application/json' \\\n  -d '{\"is_new\":true,\"name\":\"d'\\''Or\",\"parts\":[1,2.5],\"size\":null}'"
        );
        assert!(
            python.contains("params={\"q\": \"it's \\\"5\\\" & [more]\"},\n"),
            "{python}"
        );
        assert!(python.contains("json={\"is_new\": True, \"name\": \"d'Or\", \"parts\": [1, 2.5], \"size\": None},\n"), "{python}");
        assert!(
            javascript.contains(
                "a%20b?q=it%27s%20%225%22%20%26%20%5Bmore%5D\", {\n  method: \"POST\",\n"
            ),
            "{javascript}"
        );
        assert!(
            r.contains("req_url_query(q = \"it's \\\"5\\\" & [more]\") |>\n"),
            "{r}"
        );
        let bare = ExampleRequest {
            query: Vec::new(),
            body: None,
            ..request.clone()
        };
        let [curl, _, _, r] =
            for_request(&bare, "https://data.example.org").map(|sample| sample.source);
        assert!(
            curl.contains(" \\\n  -X POST \\\n") && r.contains("req_method(\"POST\") |>\n"),
            "{curl}\n{r}"
        );
        let open = ExampleRequest {
            method: "GET",
            query: Vec::new(),
            body: None,
            needs_key: false,
            ..request
        };
        let [curl, python, javascript, _] =
            for_request(&open, "https://data.example.org").map(|sample| sample.source);
        assert_eq!(curl, "curl 'https://data.example.org/v1/things/a%20b'");
        let document = ExampleRequest {
            is_document: true,
            ..open.clone()
        };
        let [_, bare, script, r] =
            for_request(&document, "https://data.example.org").map(|sample| sample.source);
        assert!(
            bare.ends_with("print(answer.json())")
                && script.ends_with("console.log(await answer.json());")
                && r.ends_with("str(answer)"),
            "{bare}\n{r}"
        );
        assert!(
            !python.contains("import os")
                && javascript.starts_with(
                    "const answer = await fetch(\"https://data.example.org/v1/things/a%20b\");\n"
                )
        );
    }
}
