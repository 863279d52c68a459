#!/usr/bin/env bash
# Makes the inputs that fuzzing begins with from fixtures, declarations, kept homes and tests, into fuzz/seeds/TARGET/.
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=fuzz/seeds

# seed TARGET NAME: a seed of standard input.
seed() { mkdir -p "$seeds/$1" && cat > "$seeds/$1/$2"; }
# name FILE: a name without folders.
name() { printf '%s' "$1" | cksum | cut -d' ' -f1; }
sources() { find fixtures -path '*/source/*' -type f -size -64k "$@" -print0; }

rm -rf "${seeds:?}"/*/
while IFS= read -r -d '' file; do
    head=$(head -c 2500 "$file" | tr -d '\0')
    delimiter='\000' # a comma
    case "$head" in *'|'*'|'*) delimiter='\001' ;; *$'\t'*$'\t'*) delimiter='\002' ;; esac
    { printf "$delimiter\\000"; head -c 2500 "$file"; } | seed delimited "plain-$(name "$file")"
    quoting=$(printf '%s' "$delimiter" | sed 's/\\000/\\004/; s/\\001/\\005/; s/\\002/\\006/')
    { printf "$quoting\\000"; head -c 2500 "$file"; } | seed delimited "quoting-$(name "$file")"
done < <(sources ! -name '*.zip' ! -name '*.xlsx' ! -name '*.json' ! -name '.pubdata-mirror')
printf '\004\000a,b,c\n1,"x, y",z\n2,"two\nlines","q""q"\n3,"open,x\n4,5,6\n' | seed delimited quotes
printf '\055\007a;b|c\n---\nlabel\nlabel\nlabel\n1;2;3\n' | seed delimited ruler

printf '\011\0000123456789\nabcdefghij\nshort\n1 3 5 7 9 \r\n' | seed fixed_width ten
printf '\037\001%-32s\n%-32s\n\032' 'one record' "$(printf 'caf\351')" | seed fixed_width latin
printf '[["NAME","S1701","zcta"],\n["ZCTA5 00601","61.9","00601"],\n["\\u00f1 \\"x\\"",null,-2.0]]\n' | seed json_rows census
printf '\000[{"a": "1", "b": {"c": null, "d": [1, 2]}}, {"a": "x]\\"", "e": true}]' | seed json_records list
printf '\005{"features": [{"attributes": {"ID": 1, "PERMIT#": "a"}}, {"attributes": {"ID": 2}, "geometry": {"x": -1.5e3}}]}' | seed json_records features
printf '\002{"help": "x", "result": {"fields": [{"id": 1}], "records": [{"a": 1}, {"a": 2, "b": "y"}]}}' | seed json_records result
while IFS= read -r -d '' file; do
    for how in 000 001 002 005; do { printf "\\$how"; head -c 8000 "$file"; } | seed json_records "$how-$(name "$file")"; done
    head -c 8000 "$file" | seed json_rows "$(name "$file")"
done < <(sources \( -name '*.json' -o -name '*query@*' -o -name '*search@*' \))

sheet='<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row><row r="2"><c r="A2"><v>1.5</v></c><c r="B2" t="s"><v>1</v></c></row><row/><row r="4"><c r="C4" t="e"><v>#N/A</v></c></row></sheetData></worksheet>'
shared='<sst><si><t>a</t></si><si><r><t>x</t></r><r><t xml:space="preserve"> &amp; y</t></r><rPh><t>z</t></rPh></si></sst>'
{ printf '%s\0%s' "$sheet" "$shared"; } | seed xlsx sheet
printf '%s' "$sheet" | seed xml sheet
printf '%s' "$shared" | seed xml shared
printf '<?xml version="1.0" encoding="ISO-8859-1"?><a xmlns:b="urn:b" b:c="1"><!-- x --><b:d/>caf\351 <![CDATA[<&>]]>&#233;</a>' | seed xml latin
if command -v unzip >/dev/null; then
    while IFS= read -r -d '' file; do
        { unzip -p "$file" xl/worksheets/sheet1.xml | head -c 6000; printf '</sheetData></worksheet>\0'; unzip -p "$file" xl/sharedStrings.xml 2>/dev/null | head -c 4000 || true; } | seed xlsx "$(name "$file")"
    done < <(sources -name '*.xlsx')
fi
while IFS= read -r -d '' file; do head -c 8000 "$file" | seed xml "$(name "$file")"; done < <(sources \( -name '*.xml' -o -name '*.html' \))

atom='<?xml version="1.0" encoding="ISO-8859-1" ?><feed xmlns="http://www.w3.org/2005/Atom"><title>Latest</title><entry><title>8-K - APPLE INC. (0000320193) (Filer)</title><link href="https://www.sec.gov/x"/><summary type="html"> &lt;b&gt;Filed:&lt;/b&gt; 2026-11-20</summary><updated>2026-11-20T16:30:00-05:00</updated><category term="8-K"/><id>urn:tag:sec.gov,2008:accession-number=0000320193-26-000001</id></entry><entry><title>4 - x</entry><entry/></feed>'
rss='<?xml version="1.0"?><rss version="2.0"><channel><title>x</title><item><title>A (0000320193) (Filer)</title><edgar:xbrlFiling xmlns:edgar="https://www.sec.gov/Archives/edgar"><edgar:formType>10-K</edgar:formType></edgar:xbrlFiling></item><item></item></channel></rss>'
printf '%s' "$atom" | seed feed atom
printf '%s' "$rss" | seed feed rss
printf '%s' "$atom" | seed filings_feed atom
printf '%s' "$rss" | seed filings_feed rss
feeds=fixtures/sec/current_filings/basic/source/www.sec.gov
for file in "$feeds"/Archives/edgar/usgaap.rss.xml "$feeds"/cgi-bin/*; do head -c 8000 "$file" | seed filings_feed "$(name "$file")"; done

page='{"accessionNumber":["0000320193-20-000096","0000320193-20-000062"],"filingDate":["2020-10-30","2020-07-31"],"reportDate":["2020-09-26",""],"acceptanceDateTime":["2020-10-29T18:06:25.000Z","2020-07-30T20:30:32.000Z"],"act":["34",""],"form":["10-K","8-K"],"fileNumber":["001-36743",""],"filmNumber":["201273977",""],"items":["","2.02,9.01"],"size":[12502600,1],"isXBRL":[1,0],"isInlineXBRL":[1,0],"primaryDocument":["aapl-20200926.htm",""],"primaryDocDescription":["10-K",""]}'
printf '%s' "$page" | seed submissions page
printf '{"cik":"320193","entityType":"operating","name":"Apple Inc.","tickers":["AAPL"],"exchanges":["Nasdaq"],"addresses":{"business":{"street1":"ONE APPLE PARK WAY"}},"formerNames":[{"name":"APPLE INC","from":"2007-01-10T00:00:00.000Z","to":"2019-08-05T00:00:00.000Z"}],"filings":{"recent":%s,"files":[{"name":"CIK0000320193-submissions-001.json","filingCount":1,"filingFrom":"1994-01-26","filingTo":"1994-02-01"}]}}' "$page" | seed submissions member
fact='{"start":"2019-09-29","end":"2020-09-26","val":3.28,"accn":"0000320193-20-000096","fy":2020,"fp":"FY","form":"10-K","filed":"2020-10-30","frame":"CY2020"}'
later='{"end":"2020-10-16","val":17001802000,"accn":"0000320193-20-000096","fy":null,"fp":null,"form":"10-Q","filed":"2020-10-30","frame":"CY2020Q3I"}'
member='{"cik":320193,"entityName":"A \"quoted\" n\u00e4me","facts":{"dei":{"EntityCommonStockSharesOutstanding":{"label":"Shares","description":null,"units":{"shares":['"$later"']}}},"us-gaap":{"EarningsPerShareDiluted":{"label":"EPS","description":"x","units":{"USD/shares":['"$fact,$fact"'],"pure":['"$later"']}},"Other":{"label":null,"description":null,"units":{"USD":['"$fact"']}}}}}'
printf '%s' "$member" | seed company_facts compact
printf '%s' "$member" | sed 's/,/, /g; s/:/: /g' | seed company_facts spaced

while IFS= read -r -d '' file; do
    [ "$(wc -c < "$file")" -le 12000 ] || continue
    seed zip "$(name "$file")" < "$file"
    { printf '\100\300'; cat "$file"; } | seed zip_parts "$(name "$file")"
done < <(sources \( -name '*.zip' -o -name '*.xlsx' \))

printf 'one line, and the same line, and the same line\n%.0s' 1 2 3 4 5 | gzip -9 | { printf '\000'; cat; } | seed packed gzip
printf 'a\nb\n' | gzip | { printf '\014'; cat; } | seed packed gzip-in-pieces
# The same as raw deflate, and as zlib.
printf 'one line, and the same line\n' | gzip -9n | { printf '\001'; tail -c +11 | head -c -8; } | seed packed deflate
printf '\001\170\234\113\114\112\006\000\002\115\001\047' | seed packed zlib
printf '\012\013\002\200abcde\003' | seed packed brotli
printf 'Sun, 06 Nov 1994 08:49:37 GMT\n<a href="MNR2026Q1.zip">' | seed publisher date
printf 'bytes 5-9/10\n[{"fileURL": "https:\\/\\/example.org\\/zip\\/mnr2026jan.csv"}]' | seed publisher range
printf 'https://api.census.gov/data/2023?get=a,b&key={env:CENSUS_KEY}#x\n' | seed publisher url
printf '120\n' | seed publisher seconds
while IFS= read -r -d '' file; do { printf '%s\n' "https://example.org/a/b?c=d/e"; head -c 6000 "$file"; } | seed publisher "$(name "$file")"; done < <(sources -name '*.html')

kept=tests/formats/home-of-2026-11-22
head -c 6000 $kept/stream/log/*.jsonl | seed event_log kept
{ head -n 2 $kept/stream/log/*.jsonl; printf '{"committed":1}\n\0{"format_version":1,"first_seq":2}\n'; } | seed event_log two-segments
cat $kept/releases/*/manifest.json | tr -d '\n' | sed 's/  */ /g' | seed manifest kept
printf '{"format_version":1,"release_id":"r0123456789abcdef0123","pubdata_version":"0.1.0","is_sample":true,"tasks":{},"datasets":{"geo.x":{"schema_version":"1.0.0","parts":[]}},"published_at":"2026-11-22T00:00:00Z","run_id":"x"}' | seed manifest small
cat $kept/channels/nightly/*.json | seed channel kept
printf 'nightly' | seed channel name
{ printf '\000'; head -n 1 $kept/ledger.jsonl; } | seed home_files ledger
{ printf '\001'; cat $kept/accepted.jsonl; } | seed home_files accepted
{ printf '\002'; cat $kept/keys.json; } | seed home_files keys
{ printf '\003'; cat $kept/stream/state.json; } | seed home_files state
{ printf '\004'; head -c 4000 $kept/stream/findings.jsonl; } | seed home_files findings
{ printf '\005{"format_version":1,"boot":null,"of":{"origin":"https://example.org/list","etag":null,"last_modified":null,"total_bytes":10}}'; } | seed home_files partial
{ printf '\006{"format_version":1,"task_id":"a.b","unit":"all","outcome":{"failed":{"kind":"contract","message":"x","issues":null}}}'; } | seed home_files receipt
{ printf '\006{"format_version":1,"task_id":"a.b","unit":"all","outcome":{"built":{"unit":{},"read":{"a.c":3},"parts":[]}}}'; } | seed home_files receipt-built
{ printf '\007a key of mine'; } | seed home_files name
{ printf '\0100000320193-20-000096\n0000320193-20-000097\n'; } | seed home_files accessions

while IFS= read -r file; do { printf '\000'; cat "$file"; } | seed declarations "$(name "$file")"; done < <(find pipelines -name '*.toml' -size -12k)
{ printf '\001'; cat schemas/geo/zcta_metric.toml; } | seed declarations contract
{ printf '\002'; head -c 3000 schemas/_types.toml; } | seed declarations types
{ printf '\003'; cat schemas/_plans.toml; } | seed declarations plans

number=0
while IFS= read -r message; do
    number=$((number + 1))
    printf '%s' "$message" | seed stream "$number"
done <<'END'
{"type":"auth","token":"pd_x"}
{"type":"subscribe","id":"a","filters":{"forms":["8-K","10-K/A"],"ciks":["0000320193",320193],"tickers":["AAPL"],"items":["2.02"],"entity_roles":["issuer","filed by"]},"since_seq":12}
{"type":"subscribe","id":"b","since":"2026-11-20T00:00:00Z"}
{"type":"unsubscribe","id":"a"}
{"type":"ping","t":{"a":[1,2.5e300,"x",null]}}
{"type":"ping","t":"\ud83d\ude00"}
END
printf '90210|x' | seed cursor key
printf 'MXxyMDEyMzQ1Njc4OWFiY2RlZjAxMjN8MDEyMzQ1Njc4OWFiY2RlZnw1MA' | seed cursor written

number=0
while IFS= read -r path; do
    number=$((number + 1))
    printf 'GET %s\n50' "$path" | seed http "get-$number"
done < <(grep -rhoE '"/v1/[^"{}]*"' tests/api/serve docs/*.md | tr -d '"' | sort -u; grep -oE "^\s+'?/v1/[^' ]*" Makefile | tr -d " '\t")
for path in /v1/zip/90210/nearby /v1/coverage /v1/permits/search?jurisdiction=us-il-chicago /v1/sec/companies/320193/filings '/v1/business/search?name=a' '/v1/license/search?name=a'; do
    printf 'GET %s\n18446744073709551615' "$path" | seed http "list-$(name "$path")"
done
for body in calculateTax:/v1/tax/calculate compareLocations:/v1/geo-demographics/locations/compare; do
    { printf 'POST %s\n' "${body#*:}"; cat "docs/examples/${body%%:*}.request.json"; } | seed http "post-${body%%:*}"
done
for file in docs/examples/*.request.json; do
    for path in /v1/tax/batch /v1/tax/calculate /v1/zip/batch /v1/geo-demographics/locations/compare; do
        { printf 'POST %s\n' "$path"; cat "$file"; } | seed http "post-$(name "$path$file")"
    done
done

number=0
for path in / /status /datasets /releases /docs /docs/searchBusinesses /docs/guides /keys /search?q=apple '/search?q=%3Cq7%3E' /compare?asked=90210,95120 /zip/90210 /zip/90209 /company/0000320193 \
    /record/geo.zcta_metric:2023:90210:population /tax /licence/x /problems/not_found /v1/openapi.json /v1/log/checkpoint /v1/coverage /v1/zip/90210 \
    /v1/sec/companies/320193 /v1/business/search?name=a /healthz /assets/pages.css /favicon.ico; do
    number=$((number + 1))
    for key in 000 001 002; do
        printf "\\$key"'GET %s\nAccept: text/html\nHost: data.example.org\nX-Forwarded-For: 192.0.2.1, 2001:db8::1, [2001:db8::2]:443\n\n' "$path" | seed visits "get-$key-$number"
        printf "\\$key"'GET %s\nIf-None-Match: *\nAccept-Encoding: gzip, br\nRange: bytes=0-9\n\n' "$path" | seed visits "conditional-$key-$number"
    done
done
for form in 'action=enter&key=pd_x&then=%2Fstatus' 'action=enter&key=pd_x&then=%2F%2Fexample.org' 'action=leave' 'action=revoke&key_id=k0' \
    'action=create&name=%3Cq7%3E&plan=free&scope=geo&expires_in_days=3' 'city=BEVERLY+HILLS&state=CA&zip=90210&amount=10.00'; do
    for path in /keys /tax /compare; do
        for key in 000 001 002; do printf "\\$key"'POST %s\nOrigin: https://data.example.org\nSec-Fetch-Site: same-origin\n\n%s' "$path" "$form" | seed visits "post-$key-$(name "$path$form")"; done
    done
done

for part in 000 003 007 014 020 031 040 052 063 077 101 117 140; do
    number=0
    while IFS= read -r claim; do
        number=$((number + 1))
        { printf "\\$part"; printf '%s' "$claim"; } | seed claims "$part-$number"
    done <<'END'
{}
{"rows": 3, "size_bytes": 1}
{"set_aside": true, "rows": 3}
{"rows": 18446744073709551615}
{"task_id": "census.acs5/vintage=2023", "path": "geo.zcta_metric/2023.parquet"}
{"path": "../x.parquet", "partition": {"vintage": "2023", "bucket": "0", "of_dataset": "geo.zcta_metric"}}
{"partition": {}}
{"key_range": null}
{"key_range": ["geo.zcta_metric:2023:00601:population", "geo.zcta_metric:2023:99999:x"]}
{"fingerprint": "0000000000000000000000000000000000000000000000000000000000000000"}
{"sha256": "0000000000000000000000000000000000000000000000000000000000000000"}
{"report": {"quarantined": {"range": 18446744073709551615, "shape": 1}, "warnings": {}, "notes": []}}
{"report": {"quarantined": {}, "warnings": {"undeclared_word": 2}, "notes": [], "empty_columns": ["lat"], "words": {"status": {"rows": 1, "unknown": 1, "commonest": {"x": 1}}}}}
END
done

printf '\033[31mred\033[0m \302\233 \342\200\256 "quoted" \\ back' | seed names terminal
printf '123 N MAIN ST APT 4B, SPRINGFIELD IL 62701-1234' | seed names address
printf "O'BRIEN & SONS, L.L.C. D/B/A THE ﬁRM" | seed names organization
printf 'VALENCIA            KATHERINE     A' | seed names person
printf '(212) 555-0123 x45' | seed names phone
printf '1,234.50' | seed names number
printf '12/31/2026' | seed names date
printf 'PERMIT#_Nr. 7' | seed names header

find "$seeds" -mindepth 2 -type f | cut -d/ -f3 | sort | uniq -c
