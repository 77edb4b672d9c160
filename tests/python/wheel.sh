#!/usr/bin/env bash
# wheel.sh PYTHON TORCH [WHEEL]: makes the wheel of the Python package as a maintainer does, or takes WHEEL, and reads
# pictures with it in fresh virtual environments that have NumPy beside it: of PYTHON, and of each other Python from
# 3.10 on that is on the PATH. With the PyTorch of FLOWTRAIN_TEST_PYTHONPATH once more, where there is one. The program
# of the wheel trains with the package torch in the folder TORCH, and does without it what needs none.
set -euo pipefail

unset FLOWTRAIN FLOWTRAIN_TORCH
python=$1 torch=$2 wheel=${3:-} here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PYTHONDONTWRITEBYTECODE=1

install() { "$work/$1/bin/python" -m pip install --quiet "${@:2}"; }  # environment, packages…

if ! "$python" -m venv "$work/draw" 2>"$work/log"; then
  echo "skipped: [python-venv] $python makes no virtual environments: $(tail -n 1 "$work/log")"
  exit 77
fi
if ! install draw pillow 2>"$work/log"; then
  echo "skipped: [pip-network] pip cannot install packages: $(tail -n 1 "$work/log")"
  exit 77
fi
"$work/draw/bin/python" - "$work/pictures" <<'PYTHON'
import pathlib
import sys

from PIL import Image

for number in range(12):
    file = pathlib.Path(sys.argv[1], "train", ("cat", "dog")[number % 2], f"{number}.jpg")
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.linear_gradient("L").rotate(30 * number).resize((64, 48)).convert("RGB").save(file)
PYTHON

if [[ -z $wheel ]]; then
  if ! PYTHON=$python FLOWTRAIN_TORCH=$torch "$here/../../cmake/wheel" "$work/dist" >"$work/log" 2>&1; then
    tail -n 40 "$work/log"
    exit 1
  fi
  tail -n 1 "$work/log"
  wheel=$(ls "$work"/dist/*.whl)
fi
"$python" -m zipfile -l "$wheel" >"$work/listed"
if grep -E 'lib(torch|c10|gomp|cudart|curl)' "$work/listed"; then
  echo "error: the wheel holds what it shall open or leave to others"
  exit 1
fi

used=()
for each in "$python" python3.{10..19}; do
  version=$("$each" -c 'import ensurepip, sys; print(sys.version)' 2>/dev/null) || continue
  if [[ " ${used[*]} " == *" ${version%% *} "* ]]; then continue; fi
  "$each" -m venv "$work/${version%% *}"
  install "${version%% *}" "$wheel"
  "$work/${version%% *}/bin/python" "$here/first_batch.py" "$work/pictures"
  used+=("${version%% *}")
done
if [[ -n ${FLOWTRAIN_TEST_PYTHONPATH:-} ]]; then
  PYTHONPATH=$FLOWTRAIN_TEST_PYTHONPATH "$work/${used[0]}/bin/python" "$here/first_batch.py" "$work/pictures"
fi
echo "used by: ${used[*]}"

# The program, in a folder without configurations and in an environment of its own.
fail() {
  echo "wheel: $1"
  exit 1
}
bin=$work/${used[0]}/bin
mkdir "$work/empty"
cd -- "$work/empty"
for file in share/man/man1/flowtrain.1 share/bash-completion/completions/flowtrain share/zsh/site-functions/_flowtrain \
  share/fish/vendor_completions.d/flowtrain.fish; do
  [[ -s $bin/../$file ]] || fail "the environment lacks $file"
done
config=configs/quickstart.toml short=(--max-iter 3 --set val.every=0 --device cpu)
"$bin/flowtrain" --version
"$bin/flowtrain" bench "$config" --seconds 0.05 >bench.txt 2>&1 || fail "$(cat bench.txt)"
trains() { PYTHONPATH=$1 "$bin/flowtrain" "$config" "${short[@]}" >train.txt 2>&1; }
says() { grep -qF -- "$1" train.txt || fail "\"$1\" is not said, but $(cat train.txt)"; }
! trains '' || fail 'it trains without torch'
says 'pip install torch==2.11.0'
mkdir -p old/torch/lib
touch old/torch/lib/libtorch_cpu.so
echo "__version__ = '2.10.0+cpu'" | tee old/torch/__init__.py >old/torch/version.py
! trains "$PWD/old" || fail 'it trains with another torch'
says 'is LibTorch 2.10.0, but flowtrain needs 2.11'
[[ ! -e runs ]] || fail 'it made a run without training'
trains "$torch" || fail "$(cat train.txt)"
[[ -s runs/quickstart/metrics.jsonl ]] || fail 'there are no metrics'
PYTHONPATH=$torch "$bin/python" - <<'PYTHON'
import flowtrain as ft

with ft.train("configs/quickstart.toml", {"run.max_iter": 3, "val.every": 0}) as training:
    assert [line["kind"] for line in training], "ft.train starts the package's program"
PYTHON
echo 'program: it needs no torch until it trains, refuses another one, and finds the one of its environment'
