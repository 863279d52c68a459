#!/bin/sh
# Distributed run on Kubernetes, from a machine or a CronJob with pubdata, kubectl and a persistent home (PUBDATA_HOME), with PUBDATA_STORE set.
set -eu
here=$(dirname "$0")
plan=$(pubdata plan --write --json "$@" | sed -n 's/.*"plan": *"\([^"]*\)".*/\1/p')
[ -n "$plan" ] || { echo "no plan: the command printed no address" >&2; exit 60; }
for wave in split build; do
    job=$(sed "s|@PLAN@|$plan|" "$here/night.yaml" | kubectl create --selector "wave=$wave" --filename - --output name)
    # Ends when the job is complete; 124 after six hours.
    timeout 21600 sh -c "until kubectl wait --for=condition=complete --timeout=60s '$job' >/dev/null 2>&1; do
        ! kubectl wait --for=condition=failed --timeout=0s '$job' >/dev/null 2>&1 || exit 30; done"
done
exec pubdata commit --plan "$plan"
