#!/usr/bin/env bash
# Power cuts on real file systems, by hand and as root: a run saves snapshots on a loop device while the device's image
# is cloned at random instants (a reflink on XFS: all of one moment, where a plain copy would mix several). Each clone
# is what the disk would hold after a power cut at that instant. It is mounted, which replays the file system's journal,
# and must hold a snapshot that verifies and is not older than the newest one that the run had reported before.
#
#   tests/faults/crash_images.sh BUILD [INSTANTS] [FILESYSTEM…]      default: 100 of each of ext4, xfs, btrfs
set -euo pipefail

build=$(realpath -- "$1")
instants=${2:-100}
filesystems=("${@:3}")
[[ ${#filesystems[@]} -gt 0 ]] || filesystems=(ext4 xfs btrfs)
flowtrain=$build/bin/flowtrain
work=$(mktemp -d)
run=

finish() {
  [[ -z $run ]] || kill -9 "$run" 2>/dev/null || true
  for place in copy disk images; do
    if mountpoint -q "$work/$place"; then umount "$work/$place"; fi
  done
  rm -rf "$work"
}
trap finish EXIT

cat >"$work/tiny.toml" <<'TOML'
[run]
max_iter = 1000000000
threads = 1
[data]
dataset = "shapes"
size = 16
[loader]
workers = 1
[net]
name = "mlp"
hidden = [64]
[snapshot]
every = 5
keep_last = 3
[display]
every = 1000
TOML

# The iteration of the newest snapshot that the run reports, or 0.
reported() {
  { grep -o '"kind":"snapshot","iter":[0-9]*' "$work/disk/run/metrics.jsonl" 2>/dev/null || true; } |
    tail -n 1 | grep -o '[0-9]*$' || echo 0
}

# The iteration of the newest one in the copy whose every byte is right, or 0.
found() {
  local name
  for name in $(ls -r "$work/copy/run/snapshots" 2>/dev/null | grep '^iter-' || true); do
    if "$flowtrain" snapshot verify "$work/copy/run/snapshots/$name" >/dev/null 2>&1; then
      echo $((10#${name#iter-}))
      return
    fi
  done
  echo 0
}

mkdir "$work/disk" "$work/copy" "$work/images"
truncate -s 40G "$work/xfs.img"
mkfs.xfs -q "$work/xfs.img"
mount -o loop "$work/xfs.img" "$work/images"
failures=0
for filesystem in "${filesystems[@]}"; do
  image=$work/images/$filesystem.img
  truncate -s 400M "$image"
  "mkfs.$filesystem" "$image" >/dev/null 2>&1
  mount -o loop "$image" "$work/disk"
  "$flowtrain" "$work/tiny.toml" --quiet --run-dir "$work/disk/run" &
  run=$!
  until [[ $(reported) -gt 0 ]]; do sleep 0.1; done
  before=()
  for ((i = 0; i < instants; ++i)); do
    sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
    before+=("$(reported)")
    cp --reflink=always "$image" "$work/images/copy-$i.img"
  done
  kill -9 "$run"
  wait "$run" 2>/dev/null || true
  run=
  umount "$work/disk"  # two file systems of one identity cannot be mounted at once
  rm "$image"

  wrong=0
  for ((i = 0; i < instants; ++i)); do
    after=unmountable
    if mount -o loop "$work/images/copy-$i.img" "$work/copy"; then
      after=$(found)
      umount "$work/copy"
    fi
    rm "$work/images/copy-$i.img"
    if [[ $after == unmountable || $after -lt ${before[i]} ]]; then
      echo "$filesystem, instant $i: the run had reported iteration ${before[i]}, the copy has $after"
      wrong=$((wrong + 1))
    fi
  done
  echo "$filesystem: $instants instants, $wrong wrong"
  failures=$((failures + wrong))
done
[[ $failures -eq 0 ]]
