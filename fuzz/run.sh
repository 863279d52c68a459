#!/usr/bin/env bash
# Runs each target for MINUTES of processor time, one after the other, and says what came of it. TARGETS="xml zip" runs those. Ends with 1 on a finding.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${MINUTES:-10}
seconds=$(awk "BEGIN { print int($minutes * 60) }")
program=$PWD/fuzz/target/$(rustc -vV | sed -n 's/^host: //p')/release/fuzz
targets=${TARGETS:-$(sed -n 's/^    ("\([a-z_]*\)", .*/\1/p' fuzz/src/main.rs)}
mkdir -p fuzz/logs
printf '%-14s %8s %12s %9s %8s  %s\n' target minutes executions coverage corpus finding
found=0
for target in $targets; do
    mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
    log=fuzz/logs/$target.log
    code=0
    # No input is worth half a minute (TIMEOUT gives more where other work takes the processors); what one asks for of memory is counted by the program itself.
    PUBDATA_FUZZ=$target PUBDATA_FUZZ_SECONDS=$seconds PUBDATA_FUZZ_HOME=fuzz/home POLARS_MAX_THREADS=1 RAYON_NUM_THREADS=1 \
        nice -n 19 "$program" "fuzz/corpus/$target" "fuzz/seeds/$target" -artifact_prefix="fuzz/artifacts/$target/" \
        -max_len="${MAX_LEN:-16384}" -timeout="${TIMEOUT:-30}" -rss_limit_mb=4096 -print_final_stats=1 >"$log" 2>&1 || code=$?
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    coverage=$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1 | cut -d' ' -f2 || true)
    finding=none
    # 72: the time was over.
    if [ "$code" != 0 ] && [ "$code" != 72 ]; then
        finding=$(grep -oE "fuzz/artifacts/$target/[a-z]+-[0-9a-f]+" "$log" | tail -n 1 || echo "see $log")
        found=1
    fi
    printf '%-14s %8s %12s %9s %8s  %s\n' "$target" "$minutes" "${executions:-?}" "${coverage:-?}" "$(find "fuzz/corpus/$target" -type f | wc -l)" "$finding"
done
exit "$found"
