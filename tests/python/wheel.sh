#!/usr/bin/env bash
# wheel.sh PYTHON [WHEEL]: makes the wheel of the Python package as a maintainer does, or takes WHEEL, and reads
# pictures with it in fresh virtual environments that have NumPy beside it: of PYTHON, and of each other Python from
# 3.10 on that is on the PATH. With the PyTorch of FLOWTRAIN_TEST_PYTHONPATH once more, where there is one.
set -euo pipefail

python=$1 wheel=${2:-} here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
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
  PYTHON=$python "$here/../../cmake/wheel" "$work/dist" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
  tail -n 1 "$work/log"
  wheel=$(ls "$work"/dist/*.whl)
fi
if "$python" -m zipfile -l "$wheel" | grep -E 'lib(torch|c10|cudart|curl)'; then
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
