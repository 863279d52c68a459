#!/bin/sh
# Distributed run on AWS Batch, from a machine with pubdata, the AWS command line and a persistent home (PUBDATA_HOME), with PUBDATA_STORE set.
# Once, first: aws batch register-job-definition --cli-input-json file://job-definition.json
set -eu
queue=${PUBDATA_BATCH_QUEUE:?the name of the job queue} size=${PUBDATA_BATCH_SIZE:-10}
plan=$(pubdata plan --write --json "$@" | sed -n 's/.*"plan": *"\([^"]*\)".*/\1/p')
[ -n "$plan" ] || { echo "no plan: the command printed no address" >&2; exit 60; }
submit() {
    wave=$1
    shift
    aws batch submit-job --job-name "pubdata-$wave" --job-queue "$queue" --job-definition pubdata-task \
        --array-properties "size=$size" --parameters "what=$wave,plan=$plan" --query jobId --output text "$@"
}
split=$(submit split)
build=$(submit build --depends-on "jobId=$split")
while :; do
    state=$(aws batch describe-jobs --jobs "$build" --query 'jobs[0].status' --output text)
    case $state in
        SUCCEEDED) break ;;
        FAILED) echo "job $build failed; start again, finished units are kept" >&2; exit 30 ;;
    esac
    sleep 30
done
exec pubdata commit --plan "$plan"
