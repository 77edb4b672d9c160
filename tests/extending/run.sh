#!/usr/bin/env bash
# Builds the examples of docs/extending.md outside the tree against an installed flowtrain, as the page says, and uses
# them.
#   tests/extending/run.sh BUILD     BUILD: a build folder
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd -- "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"

cmake --install "$build" --prefix "$work/prefix" >install.log

# Each block that begins with "// NAME.cpp" is a plugin; others belong into a file of the tree.
awk '/^```cpp$/ { block = 1; next }
     /^```/ { block = 0; file = ""; next }
     block && file == "" { file = $2; sub(/:$/, "", file)
                           if (!/^\/\/ [a-z_]+\.cpp/) file = "part-" ++parts }
     block { print > file }' "$root/docs/extending.md"
sed -e '1i #include "sampling/core/settings.h"\nusing namespace flowtrain;\nconst Key key =' -e '$a ;' part-1 >key.cc
sed -e '1i #include "pipeline/base/config/key_lines.h"\nusing namespace flowtrain::key_lines;\nconst auto line = {' \
  -e '$a };' part-2 >core_key.cc
for file in key.cc core_key.cc part-3 part-4; do g++ -x c++ -std=c++20 -fsyntax-only -I "$root" "$file"; done
[[ ! -e part-5 ]] || { echo 'a block of the page is built by nobody:' && cat part-5 && exit 1; }
functions=$(grep -h '^FLOWTRAIN_PLUGIN(' ./*.cpp | sed 's/FLOWTRAIN_PLUGIN(\(.*\))/\1();/')
echo "examples:" ./*.cpp

# All in one plugin, by one compiler call: LibTorch's headers are read once.
flowtrain=$work/prefix/bin/flowtrain
torch=$("$flowtrain" info | python3 -c 'import json, sys; print(json.load(sys.stdin)["torch_folder"])')
parts=$(ls ./*.cpp | grep -v 'constant\.cpp\|letters\.cpp')
# shellcheck disable=SC2086  # one word a file
{
  grep -h '^#include' $parts
  grep -hv '^#include\|^FLOWTRAIN_PLUGIN(' $parts
  printf 'void add_all() {\n%s\n}\nFLOWTRAIN_PLUGIN(add_all)\n' "$functions"
} >parts.cc
g++ -x c++ -std=c++20 -O2 -fPIC -shared -I prefix/include/flowtrain -isystem "$torch/include" \
  -isystem "$torch/include/torch/csrc/api/include" parts.cc -o parts.so 2>compile.log ||
  { grep -m 5 -A 5 error compile.log; exit 1; }

# A sampler of the C interface needs two headers alone. The trial data have a text.
g++ -std=c++20 -O2 -fPIC -shared -I prefix/include/flowtrain letters.cpp -o letters.so
"$flowtrain" plugin check letters.so >out.log || { cat out.log; exit 1; }
grep -q 'tokens u8 ≤512, tokens_length i64' out.log || { cat out.log; exit 1; }

# And with CMake.
mkdir plugin
cp constant.cpp plugin/
cat >plugin/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(mine CXX)
find_package(flowtrain REQUIRED)
add_library(constant MODULE constant.cpp)
target_link_libraries(constant PRIVATE flowtrain::flowtrain)
set_target_properties(constant PROPERTIES PREFIX "")
CMAKE
{ cmake -S plugin -B plugin/build -DCMAKE_PREFIX_PATH="$work/prefix" && cmake --build plugin/build; } >build.log 2>&1 ||
  { cat build.log; exit 1; }

# A new plugin finds the installed headers, and passes its own tests.
"$flowtrain" plugin new mine >out.log
(cd mine && PATH=$work/prefix/bin:$PATH cmake --workflow --preset check) >out.log 2>&1 || { cat out.log; exit 1; }

"$flowtrain" plugins parts.so >listed
for name in linear margin signum brier grid two_draws slow_start halved patience stripes sentences back_and_forth \
  brightness words; do
  grep -q "= \"$name\":" listed || { echo "not listed: $name"; exit 1; }
done

cat >run.toml <<'TOML'
name = "extended"
[run]
plugins = ["parts.so", "plugin/build/constant.so"]
max_iter = 30
threads = 1
[data]
dataset = "stripes"
count = 64
[order]
name = "back_and_forth"
[loader]
batch = 8
workers = 1
[net]
name = "linear"
scale = 0.5
bias = false
[loss]
name = "margin"
margin = 0.5
[optim]
name = "signum"
lr = 0.01
beta = 0.8
[step]
name = "two_draws"
weight = 0.1
[[hook]]
name = "slow_start"
length = 5
[[schedule]]
name = "halved"
after = 20
[[schedule]]
name = "patience"
metric = "brier"
limit = 1
[val]
every = 5
metrics = ["brier"]
[early_stop]
patience = 1000
[snapshot]
every = 5
TOML
"$flowtrain" run.toml >out.log 2>&1 || { cat out.log; exit 1; }

# The metric is better when lower: "best" is the snapshot with the least of it.
python3 - <<'PYTHON'
import json, pathlib
run = pathlib.Path("runs/extended")
lines = [json.loads(line) for line in open(run / "metrics.jsonl")]
values = {line["iter"]: line["brier"] for line in lines if line["kind"] == "val"}
best = (run / "snapshots/best").resolve().name
least = min(values, key=values.get)
print("brier:", values, "best:", best)
assert len(values) == 6 and str(least) in best, (values, best)
PYTHON

# Early stopping goes by it, too.
"$flowtrain" run.toml --set name=stops --set early_stop.patience=1 --set early_stop.min_delta=100 >out.log 2>&1
grep -q 'brier has not improved' out.log || { cat out.log; exit 1; }

"$flowtrain" run.toml --set name=detects --set detect.name=grid >out.log 2>&1 && cat out.log && exit 1
grep -q "the detector 'grid' reads map, and the net does not give 'map'" out.log || { cat out.log; exit 1; }

for sampler in brightness constant; do
  "$flowtrain" run.toml --set name=$sampler --set sampler.name=$sampler --max-iter 3 >out.log 2>&1 ||
    { cat out.log; exit 1; }
done

# Fields of parts. The sampler `check` ends the run if a byte of a row is not written, or differs the second time.
seq -f 'sentence %g' 64 >lines.txt
cat >fields.toml <<'TOML'
[run]
plugins = ["parts.so"]
[data]
dataset = "sentences"
path = "lines.txt"
[sampler]
name = "check"
inner = "fields"
[loader]
batch = 8
workers = 1
[[field]]
name = "words"
from = "text"
as = "words"
[[field]]
name = "line"
from = "number"
as = "number"
dtype = "i64"
TOML
"$flowtrain" bench fields.toml --seconds 0.1 >out.log 2>&1 || { cat out.log; exit 1; }

echo "extending: the page's examples build outside the tree, train, and are followed by early stopping and best"
