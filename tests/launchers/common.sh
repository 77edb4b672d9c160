# shellcheck shell=bash
# Shared by the tests that start flowtrain with launchers that others wrote; sourced, not run. Call begin first.

# A net so small that a step takes a millisecond, and so many of them that there is time to disturb the run.
readonly iterations=2000
tiny_config() {
  cat <<TOML
name = "tiny"
[run]
max_iter = $iterations
threads = 1
[data]
dataset = "shapes"
samples = 300
val_samples = 40
size = 16
[loader]
batch = 16
workers = 2
[net]
name = "mlp"
hidden = [32]
dropout = 0.3
[optim]
lr = 0.05
momentum = 0.9
[val]
every = 500
[snapshot]
every = 50
keep_last = 4
TOML
}

skip() { printf 'skipped: [%s] %s\n' "$1" "$2"; exit 77; }  # NEED as in tests/skipped.sh, REASON
fail() { printf 'FAILED: %s\n' "$1" >&2; exit 1; }
passed() { printf 'passed: %s (%d s so far)\n' "$1" "$SECONDS"; }

# begin PROGRAM: a folder of this test's own with tiny.toml in it, which goes away with everything that was started.
begin() {
  program=$(realpath -- "$1")
  work=$(mktemp -d)
  trap clean_up EXIT
  # Whatever this test starts inherits the variable, however deep below a daemon; this shell itself does not have it.
  export FLOWTRAIN_LAUNCHER_TEST=$work
  export TMPDIR=$work  # launchers keep files there, and leave them behind when they are killed
  tiny_config >"$work/tiny.toml"
  cd -- "$work"
}

# The processes that this test has started and that still run, one id a line.
started() {
  local FLOWTRAIN_LAUNCHER_TEST=  # or grep finds itself
  grep -lzsxF "FLOWTRAIN_LAUNCHER_TEST=$work" /proc/[0-9]*/environ | grep -o '[0-9]*' || true
}
# Those whose folder is this test's: slurmstepd writes its title over its environment.
working_here() { find /proc/[0-9]*/cwd -maxdepth 0 -lname "$work*" 2>/dev/null | grep -o '[0-9]*' || true; }
nothing_runs() { [[ -z $(started) ]]; }

clean_up() {
  local status=$? id log
  if ((status != 0 && status != 77)); then
    for log in "$work"/*.log; do printf -- '--- %s\n' "${log##*/}" && tail -n 40 -- "$log"; done >&2
  fi
  cd /
  # Again, as a daemon that is about to die may have started another one.
  for _ in 1 2 3; do
    for id in $(started) $(working_here); do kill -KILL "$id" 2>/dev/null || true; done
    sleep 0.1
  done
  rm -rf -- "$work"
}

# run_of RUN: sets `command` to the words of a run of tiny.toml into the folder RUN, new or from its newest snapshot.
run_of() { command=("$program" tiny.toml --quiet --run-dir "$work/$1" --resume auto); }

# logged NAME COMMAND…: its output goes to NAME.log, its exit code to `code`; two minutes at most.
logged() {
  local name=$1
  shift
  code=0
  timeout -k 10 120 "$@" >>"$work/$name.log" 2>&1 </dev/null || code=$?
}

# launch NAME COMMAND…: the same in the background; wait_for_launcher sets `code`.
launch() {
  local name=$1
  shift
  timeout -k 10 120 "$@" >>"$work/$name.log" 2>&1 </dev/null &
  launcher=$!
}
wait_for_launcher() {
  code=0
  wait "$launcher" || code=$?
}

# wait_until SECONDS WHAT COMMAND…: until the command succeeds.
wait_until() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    if ((SECONDS >= end)); then fail "waited in vain: $what"; fi
    sleep 0.05
  done
}

has_snapshot() { grep -qs '"kind":"snapshot"' "$work/$1/metrics.jsonl"; }
wait_for_snapshot() { wait_until 60 "a snapshot of $1" has_snapshot "$1"; }

# rank_process RUN VARIABLE RANK: the process of flowtrain whose launcher has told it VARIABLE=RANK.
rank_process() {
  local id
  for id in $(started); do
    if [[ /proc/$id/exe -ef $program ]] && grep -zqsxF -- "$work/$1" "/proc/$id/cmdline" &&
      grep -zqsxF -- "$2=$3" "/proc/$id/environ"; then
      echo "$id"
      return
    fi
  done
  fail "no process of flowtrain has $2=$3"
}

ended_well() { ((code == 0)) || fail "$1 ended with $code"; }

# end_of RUN KEY: params_xxh64 or order_xxh64 from the line that ends a run.
end_of() {
  local values
  values=$(sed -n "/^{\"kind\":\"end\",\"iter\":$iterations,/s/.*\"$2\":\"\([0-9a-f]*\)\".*/\1/p" \
    "$work/$1/metrics.jsonl")
  if [[ ! $values =~ ^[0-9a-f]{16}$ ]]; then fail "$1 did not end once: '$values'"; fi
  echo "$values"
}

# same_end RUN OTHER KEY…
same_end() {
  local run=$1 other=$2 key a b
  shift 2
  for key in "$@"; do
    a=$(end_of "$run" "$key")
    b=$(end_of "$other" "$key")
    if [[ $a != "$b" ]]; then fail "$key: $a of $run is not $b of $other"; fi
  done
}

# resumed RUN: it went on from a snapshot, not from the start.
resumed() {
  grep -q '"kind":"resume","iter":[1-9]' "$work/$1/metrics.jsonl" || fail "$1 did not resume from a snapshot"
}

# Two ranks that nothing disturbs, started by flowtrain itself: what the others must be equal to.
train_straight() {
  run_of straight
  logged straight "${command[@]}" --distributed --world-size 2
  ended_well 'an undisturbed run'
}

# A port of 127.0.0.1 where nobody listens.
free_port() {
  local port
  while port=$((20000 + RANDOM % 10000)); (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
  echo "$port"
}
