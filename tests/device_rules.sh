#!/usr/bin/env bash
# Refuses, in nets/ and stages/, what makes a host wait for its GPU, or picks a GPU by chance, unless
# tests/device_rules.txt says how often it runs and why it may.
#   tests/device_rules.sh [TREE]       checks a tree (default: this one)
#   tests/device_rules.sh --self-test  checks the checker, on wrong and right lines
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

make_there='at::full and at::zeros make a value where it is needed; a copy of one waits for the device'
readout='ask for it with a Readout (stages/torch/readout.h), or keep it on the device'
# Name, pattern (extended regular expression) and what to do instead.
rules=(
  'stream|getStreamFromPool\( *(true|false)? *\)|name the GPU: that of the calling thread may be another'
  'copy|cudaMemcpyAsync\(|copy from page-locked memory only, and say in the list whose it is'
  'tensor|(torch|at)::(scalar_)?tensor\(.*(device|options\(\)|where|\.to\(|cuda)|'"$make_there"
  'device|cudaSetDevice\(|use make_current() of stages/cuda/handles.h, or a guard of LibTorch'
  'wait|\.item(<|\()|\.cpu\(\)|kCPU[),]|device_synchronize\(|cudaDeviceSynchronize\(|cudaStreamSynchronize\(|'"$readout"
)

check() (
  cd -- "$1"
  status=0
  mapfile -t files < <(find nets stages -type f -regextype egrep -regex '.*\.(h|cpp|cu|cuh)' | LC_ALL=C sort)
  all=$(statements "${files[@]}")
  declare -A used=()
  for rule in "${rules[@]}"; do
    IFS='|' read -r name _ <<<"$rule"
    rest=${rule#*|} pattern=${rest%|*} way_out=${rest##*|}
    while IFS=: read -r file line text; do
      if is_listed "$file" "$text"; then continue; fi
      echo "$file:$line: $name: $text"
      echo "  $way_out; tests/device_rules.txt lists what may be"
      status=1
    done < <(grep -E -- "^[^:]+:[0-9]+:.*($pattern)" <<<"$all" || true)
  done
  for entry in "${!allowed[@]}"; do
    [[ -n ${used[$entry]:-} ]] || {
      echo "tests/device_rules.txt: no such line any more: ${allowed[$entry]}"
      status=1
    }
  done
  exit "$status"
)

# statements FILE…: "file:line:statement", each on one line and without comments.
statements() {
  awk '
    FNR == 1 { text = "" }
    {
      line = $0
      sub(/^[ \t]+/, "", line)
      sub(/[ \t]*\/\/.*$/, "", line)
      if (line == "") next
      if (text == "") first = FNR
      text = text (text == "" ? "" : " ") line
      if (line ~ /[;{}:]$/) { print FILENAME ":" first ":" text; text = "" }
    }' "$@"
}

# is_listed FILE TEXT: whether an entry of the list has the file and a part of the text; remembers that it was used.
is_listed() {
  local entry path part found=1
  for entry in "${!allowed[@]}"; do
    IFS='|' read -r path part _ <<<"${allowed[$entry]}"
    path=${path% } part=${part# } part=${part% }
    [[ $1 == "$path" && $2 == *"$part"* ]] && { used[$entry]=1; found=0; }
  done
  return "$found"
}

# read_list FILE: its entries, in `allowed`.
read_list() {
  mapfile -t allowed < <(grep -vE '^(#|$)' "$1")
}

self_test() {
  local tree failures=0 expected line
  tree=$(mktemp -d)
  # shellcheck disable=SC2064  # now is when the name is known
  trap "rm -rf -- '$tree'" EXIT
  mkdir -p "$tree/nets" "$tree/stages"
  while IFS=' ' read -r expected line; do
    printf 'namespace nets {\n  %s\n}\n' "${line//%/$'\n'}" >"$tree/nets/a.cpp"
    allowed=()
    [[ $expected == listed ]] && allowed=('nets/a.cpp | scale_.item<double>() | once')
    [[ $expected == stale ]] && allowed=('nets/b.cpp | scale_.item<double>() | once')
    if (check "$tree" >/dev/null); then
      [[ $expected == good || $expected == listed ]] || { echo "not refused: $line"; failures=$((failures + 1)); }
    else
      [[ $expected == bad || $expected == stale ]] || { echo "refused: $line"; failures=$((failures + 1)); }
    fi
  done <<'LINES'
bad  auto s = c10::cuda::getStreamFromPool();
bad  auto s = getStreamFromPool(false);
good auto s = getStreamFromPool(false, gpu);
bad  cudaMemcpyAsync(to, from, n, kind, stream);
bad  const auto flags = torch::tensor({1.0}, control_.options().requires_grad(false));
bad  const auto flags = torch::tensor({1.0},%control_.options());
bad  const auto flags = torch::tensor({1.0}, torch::kFloat32).to(where_);
good const auto weight = torch::tensor(0.5, torch::kDouble);
bad  check(cudaSetDevice(index), "cudaSetDevice");
good make_current(index);
bad  const double scale = scale_.item<double>();
bad  if (loss.item().toDouble() > 0) return;
bad  const auto host = sums.to(at::kCPU, at::kLong);
bad  const auto host = sums.cpu();
good // scale_.item<double>() waits
good if (where.type() == at::kCUDA) return;
listed const double scale = scale_.item<double>();
stale  const double scale = 1;
LINES
  ((failures == 0))
}

declare -a allowed=()
if [[ ${1:-} == --self-test ]]; then
  self_test && echo 'device rules: every wrong line was refused, every right one passed'
else
  read_list "$here/device_rules.txt"
  check "${1:-$here/..}" && echo 'device rules: what waits for a GPU is listed, with how often'
fi
