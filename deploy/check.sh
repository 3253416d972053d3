#!/usr/bin/env bash
# Whether the image works: builds it and asks it where docker runs; elsewhere it takes the steps and the command of the
# Dockerfile in a new virtual environment. Takes the network and some minutes.
#
#   deploy/check.sh [EXTRAS]
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
dockerfile=$root/deploy/Dockerfile
extras=${1:-$(sed -n 's/^ARG EXTRAS=//p' "$dockerfile")}
port=${PORT:-18000}
work=$(mktemp -d)
started=

finish() {
    if [[ -n $started ]]; then kill "$started" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap finish EXIT

# The words of a JSON list such as that of CMD, one a line.
words_of() {
    sed -n "s/^$1 //p" "$dockerfile" | tail -n 1 | python3 -c 'import json, sys; print(*json.load(sys.stdin), sep="\n")'
}

# The commands of RUN, one a line, but for the one that makes the user.
steps() {
    sed -e ':join' -e '/\\$/{N;s/\\\n *//;b join' -e '}' "$dockerfile" | sed -n '/^RUN useradd/d;s/^RUN //p'
}

# Waits until the server is ready, or fails after two minutes.
wait_until_ready() {
    for _ in $(seq 240); do
        if curl --silent --fail --max-time 2 "http://127.0.0.1:$port/health/ready" >/dev/null; then return; fi
        kill -0 "$started" 2>/dev/null || { echo "check: the server has ended" >&2; exit 1; }
        sleep 0.5
    done
    echo "check: the server is not ready after two minutes" >&2
    exit 1
}

printf 'text,labels\nred shoes,shoes\nwool hat,hats\n' >"$work/own.csv"
train=(train "$work/own.csv" --out "$work/runs/run" --model popularity --augment none --test-share 0 --quiet)

if docker info >/dev/null 2>&1; then
    docker build --build-arg "EXTRAS=$extras" -f "$dockerfile" -t tailwright-check "$root"
    here=(--user "$(id -u):$(id -g)" -e NUMBA_CACHE_DIR=/tmp/numba -e TAILWRIGHT_CACHE=/tmp/cache)
    docker run --rm "${here[@]}" -v "$work:$work" tailwright-check "${train[@]}"
    docker run --rm -p "127.0.0.1:$port:8000" -v "$work/runs:/runs:ro" tailwright-check &
else
    python3 -m venv "$work/environment"
    export PATH="$work/environment/bin:$PATH"
    export NUMBA_CACHE_DIR="$work/cache/numba" TAILWRIGHT_CACHE="$work/cache"
    cd "$root"
    while IFS= read -r step; do
        echo "check: ${step//\/tmp/$work}" >&2
        EXTRAS=$extras bash -euc "${step//\/tmp/$work}"
    done < <(steps)
    cd "$work"
    tailwright "${train[@]}"
    mapfile -t command < <(words_of ENTRYPOINT; words_of CMD)
    command=("${command[@]//\/runs/$work/runs}")
    command=("${command[@]//8000/$port}")
    command=("${command[@]//0.0.0.0/127.0.0.1}")
    "${command[@]}" &
fi
started=$!
wait_until_ready
curl --silent --show-error --fail "http://127.0.0.1:$port/v1/predict" \
    -H 'Content-Type: application/json' -d '{"text": "red shoes", "k": 1}'
echo
kill -TERM "$started"
wait "$started" && code=0 || code=$?
started=
echo "check: answered, and ended with exit code $code"
[[ $code == 0 ]]
