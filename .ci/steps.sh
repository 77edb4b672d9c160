# The steps of .ci/run and .ci/nightly; to be sourced in the root of the tree.
# shellcheck shell=bash

status=0 summary=() skipped='' failed=''
export FLOWTRAIN_WERROR=ON
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1  # what another clone has compiled is found, debug information and all

# step NAME COMMAND…: runs it, says how long it took; a failure is remembered and the next step runs all the same.
step() {
  local name=$1 begin=$SECONDS result=passed
  shift
  "$@" || { result=FAILED; status=1; }
  summary+=("$name: $result ($((SECONDS - begin)) s)")
  echo "--- ${summary[-1]}"
}

# Prints which tests were skipped or failed, and how each step ended; the exit code is that of them all.
finish() {
  if [[ -n $skipped ]]; then echo "$skipped"; fi
  if [[ -n $failed ]]; then echo "$failed"; fi
  echo "--- in all: $SECONDS s"
  printf -- '---   %s\n' "${summary[@]}"
  exit "$status"
}

# quiet LOG COMMAND…: its output only where it fails.
quiet() {
  local log=$1
  shift
  mkdir -p build
  "$@" >"$log" 2>&1 || { tail -n 100 "$log"; return 1; }
}

# brief COMMAND…: its output without ctest's two lines for each test that passed.
brief() { "$@" 2>&1 | { grep --line-buffered -vE '^ +Start +[0-9]+: | Passed +[0-9.]+ sec$' || true; }; }

# tests TIER [CTEST ARGUMENTS…]: fails, too, where a test is skipped that this machine could run.
tests() {
  rm -f build/release/Testing/Temporary/LastTest.log
  if brief cmake/go test "$1" --no-tests=error "${@:2}"; then
    skipped+=$(tests/skipped.sh build/release --strict)
    return
  fi
  failed+=$(tests/failed.sh build/release)
  if [[ -z $failed ]]; then
    echo "--- the last lines of build/go.log"
    tail -n 100 build/go.log
  fi
  return 1
}

# torch for Python, and the libraries whose nets tests export: once into the cache (5 GB). Without a network, tests that
# need it are skipped.
python_torch() {
  local folder=${XDG_CACHE_HOME:-$HOME/.cache}/flowtrain/python-torch-2.11.0
  if [[ -n ${FLOWTRAIN_TEST_PYTHONPATH:-} ]]; then return; fi
  if [[ ! -e $folder ]]; then
    mkdir -p build
    rm -rf -- "$folder.partial"
    if ! quiet build/python_torch.log env PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 python3 -m pip install --no-input \
      --disable-pip-version-check --target "$folder.partial" \
      torch==2.11.0 torchvision==0.26.0 timm==1.0.31 transformers==5.24.0; then
      echo "torch for Python could not be installed: tests that need it are skipped"
      return
    fi
    mv -T -- "$folder.partial" "$folder"
  fi
  export FLOWTRAIN_TEST_PYTHONPATH=$folder
}

sanitized() {
  quiet "build/$1.log" cmake --preset "$1" && quiet "build/$1.log" cmake --build --preset "$1" || return 1
  if brief ctest --preset "$1" --parallel "$(nproc)" --no-tests=error; then
    skipped+=$'\n'$(tests/skipped.sh "build/$1" --strict)
  else
    failed+=$'\n'$(tests/failed.sh "build/$1")
    return 1
  fi
}

cuda_parts() {
  if ! PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null; then
    echo "CUDA parts: not built, this machine has no nvcc"
    return
  fi
  local missing=0
  for part in cuda nccl; do
    [[ -e build/release/lib/libflowtrain_$part.so ]] && continue
    echo "error: nvcc is there, but build/release/lib/libflowtrain_$part.so was not built; build/go.log says why" >&2
    missing=1
  done
  return "$missing"
}
