#!/usr/bin/env bash
# Builds programs outside the tree against an installed flowtrain, and runs them.
#   tests/consumer/run.sh BUILD     BUILD: a build folder
set -euo pipefail
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
build=$(cd -- "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"

fail() {
  echo "consumer: $1"
  exit 1
}

# The prefix is moved after the installation, as a package or a container does.
cmake --install "$build" --prefix "$work/made" >install.log
mv made prefix
{ cmake -S "$source" -B build -DCMAKE_PREFIX_PATH="$work/prefix" && cmake --build build; } >build.log 2>&1 ||
  { cat build.log; exit 1; }

# The blocks of docs/library.md: each of C++ is a function's body below its #include lines.
mkdir page
awk '/^```(cpp|cmake)$/ { file = "page/" (/cpp/ ? ++blocks ".txt" : "page.cmake"); next }
     /^```/ { file = ""; next }
     file { print > file }' "$source/../../docs/library.md"
for block in page/*.txt; do
  {
    grep -E '^(#include|using namespace)' "$block" || true
    if grep -q PrintLoss "$block"; then
      printf '#include <cstdio>\n#include <memory>\nusing namespace flowtrain;\n'
      sed -n '/^class PrintLoss/,/^};/p' "$source/train.cpp"
    fi
    printf 'void block() {\n' && grep -vE '^(#include|using namespace)' "$block" && printf '}\n'
  } >"${block%.txt}.cpp"
done
{
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(page CXX)\nfile(GLOB sources *.cpp)\n'
  printf 'add_library(mine OBJECT ${sources})\ninclude(page.cmake)\n'
} >page/CMakeLists.txt
{ cmake -S page -B page/build -DCMAKE_PREFIX_PATH="$work/prefix" && cmake --build page/build; } >build.log 2>&1 ||
  { cat build.log; exit 1; }

# A component that does not exist, and another version, are refused.
mkdir other
for wanted in 'REQUIRED COMPONENTS nets' '0.9 REQUIRED'; do
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(other CXX)\nfind_package(flowtrain %s)\n' "$wanted" \
    >other/CMakeLists.txt
  ! cmake -S other -B other/build -DCMAKE_PREFIX_PATH="$work/prefix" >other.log 2>&1 ||
    fail "find_package(flowtrain $wanted) did not fail"
done

# The loader's part takes nothing of LibTorch, nor what training adds; each library is found by its version.
libraries=$(ldd build/loader)
grep -q "prefix/lib/libflowtrain_loader\.so\.[0-9]*\.[0-9]* " <<<"$libraries" || fail "no loader library: $libraries"
! grep -E 'torch|libc10|flowtrain_train|libcuda|not found' <<<"$libraries" || fail 'the loader links these'

# The same batches in one go, and in three, with other workers: 14 batches are more than an epoch.
data=(run.seed=3 data.dataset=shapes data.samples=100 data.size=16 loader.batch=8)
build/loader once 14 "${data[@]}" loader.workers=1 >whole.txt
for batches in 3 6 5; do build/loader parts "$batches" "${data[@]}" loader.workers=2; done >parts.txt
cmp whole.txt parts.txt || fail 'a stream that was gone on with has other batches'
[[ $(wc -l <whole.txt) == 14 && $(cat once) == '1 16' && $(cat parts) == '1 16' ]] || { cat whole.txt once; exit 1; }
! build/loader once 1 data.dataset=nosuch 2>error.txt || fail 'a data set that does not exist was opened'
grep -q "no data set is called 'nosuch'" error.txt || { cat error.txt; exit 1; }

# Training takes LibTorch when it begins, and only then.
! ldd build/train | grep -E 'torch_cpu|libc10' || fail 'train links LibTorch'
build/train "$source/train.toml" run.device=cpu display.progress=off >train.txt 2>train.log ||
  { cat train.txt train.log; exit 1; }
[[ $(grep -c '^iteration [1-6]: loss ' train.txt) == 6 ]] || fail "losses: $(cat train.txt)"
folder=$(sed -n 's/^run: //p' train.txt)
grep -q '"iteration": *6' "$folder/result.json" || { ls "$folder"; cat "$folder/result.json"; exit 1; }
status=0
FLOWTRAIN_TORCH=$work build/train "$source/train.toml" 2>error.txt || status=$?
if [[ $status != 2 ]] || ! grep -q "FLOWTRAIN_TORCH=$work has no lib/libtorch_cpu.so" error.txt; then
  fail "exit code $status: $(cat error.txt)"
fi
echo 'consumer: programs outside the tree load data without LibTorch, go on with a stream, and train'
