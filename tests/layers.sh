#!/usr/bin/env bash
# Refuses an include that breaks the order of the rooms: which folder may include what. No two folders include each
# other. Refuses reads of the tables that have views (stages/core/table_keys.h) by the names of their keys, too.
#   tests/layers.sh [TREE]      checks a tree (default: this one); breaks are listed as file:line with the rule
#   tests/layers.sh --self-test checks the checker, on a tree of wrong and right snippets
set -euo pipefail

check() (
  cd -- "$1"
  # shellcheck disable=SC2016  # the dollars are awk's
  find . -type f -regextype egrep -regex '\./(sampling|nets|stages|pipeline)/.*\.(h|hpp|cpp|cu|cuh)' -printf '%P\0' |
    sort -z | xargs -0 -r awk '
      # The longest matching folder decides. Kinds: std, rooms and folders of this tree, groups of libraries.
      BEGIN {
        may["sampling/plugins/"] = "std sampling/plugin.hpp sampling/plugin_abi.h"
        may["sampling/"] = "std codecs simd xxhash sampling/"
        may["sampling/core/pattern.cpp"] = "std pcre2 sampling/"
        may["sampling/tokens/"] = "std xxhash pcre2 utf8proc json_stream sampling/"
        may["sampling/core/safetensors.cpp"] = "std json sampling/"
        may["sampling/parquet/"] = "std arrow json_stream sampling/datasets/tables/parquet.h"
        may["sampling/audio/"] = "std simd sndfile soxr sampling/"
        may["sampling/remote/"] = "std xxhash curl sampling/ sampling/remote/"
        may["nets/"] = "std torch simd sampling/core/ nets/"
        may["nets/metrics/"] = may["nets/"] " sampling/sampler.h sampling/tokens/"
        may["nets/package/"] = may["nets/"] " json codecs"
        may["stages/"] = "std queue xxhash sampling/ nets/entries.h stages/"
        may["stages/torch/"] = may["stages/"] " torch nets/ stages/torch/"
        may["stages/torch/plugins/"] = may["stages/torch/"] " pipeline/plugin.h"
        may["stages/nccl/"] = "std torch stages/nccl/"
        may["stages/cuda/"] = "std cuda stages/device/device.h stages/device/device_graph.h stages/cuda/ " \
          "stages/device/stream_point.h stages/device/device_range.h stages/device/cuda_entry.h " \
          "sampling/images/pixel_rule.h"
        may["stages/cuda/ranges.cpp"] = may["stages/cuda/"] " nvtx"
        may["stages/cuda/cornernet_ops.cpp"] = may["stages/cuda/graph.cpp"] = may["stages/cuda/"] " torch"
        # Each wing of pipeline/ may include those that stand before it here, but for tools and runs: they do not know
        # what stands beside them.
        below = "std queue xxhash text generated sampling/ nets/entries.h stages/ pipeline/base/"
        may["pipeline/"] = below
        may["pipeline/plugin.h"] = "std torch sampling/ nets/ stages/ pipeline/base/"
        may["pipeline/base/"] = below
        may["pipeline/base/config/plugins.cpp"] = below " pipeline/plugin.h"
        may["pipeline/base/http/"] = below " http"
        may["pipeline/base/distributed/"] = below " torch nets/ stages/torch/ stages/nccl/ pipeline/base/distributed/"
        may["pipeline/engine/"] = below " tbb pipeline/engine/"
        may["pipeline/engine/session/pretrained_file.cpp"] = may["pipeline/engine/"] " openssl"
        may["pipeline/inference/"] = below " pipeline/engine/ pipeline/inference/"
        may["pipeline/tools/"] = below " tbb pipeline/engine/ pipeline/tools/"
        may["pipeline/runs/"] = below " pipeline/runs/"
        all = below " pipeline/engine/ pipeline/inference/ pipeline/tools/ pipeline/runs/ pipeline/library/"
        may["pipeline/library/"] = all
        may["pipeline/library/computing/"] = all " stages/torch/ pipeline/base/distributed/ pipeline/library/computing/"
        may["pipeline/commands/"] = all " cli pipeline/commands/"
        # Folders with a door of their own: not part of what the folder above them allows.
        split("sampling/remote/ stages/torch/ stages/nccl/ stages/cuda/ pipeline/base/distributed/ " \
              "pipeline/library/computing/", closed, " ")
        opened["sampling/remote/remote.h"] = 1

        group["codecs"] = "^(jpeglib|jerror|turbojpeg|png|zlib|webp/(decode|encode))\\.h$|^pugixml\\.hpp$|^rapidjson/"
        group["simd"] = "^hwy/"
        group["torch"] = "^(torch|ATen|c10|caffe2)/"
        group["cuda"] = "^cuda_(runtime|runtime_api|fp16|bf16)\\.h$"
        group["nvtx"] = "^nvtx3/nvToolsExt\\.h$"
        group["queue"] = "^(blocking)?concurrentqueue\\.h$|^lightweightsemaphore\\.h$"
        group["openssl"] = "^openssl/evp\\.h$"
        group["json"] = "^nlohmann/"
        group["pcre2"] = "^pcre2\\.h$"
        group["utf8proc"] = "^utf8proc\\.h$"
        group["json_stream"] = "^rapidjson/"
        group["http"] = "^asio\\.hpp$"
        group["arrow"] = "^(arrow|parquet)/"
        group["curl"] = "^curl/curl\\.h$"
        group["sndfile"] = "^sndfile\\.h$"
        group["soxr"] = "^soxr\\.h$"
        group["xxhash"] = "^xxhash\\.h$"
        group["tbb"] = "^oneapi/tbb"
        group["cli"] = "^CLI/"
        group["text"] = "^(toml\\+\\+|nlohmann|spdlog|fmt)/"
        group["generated"] = "^(build_info|revision)\\.h$"
        group["std"] = "^[a-z_]+$|^(sys|arpa|netinet|net|gnu|linux|sanitizer)/[a-z_-]+\\.h$|" \
          "^(assert|ctype|cxxabi|dirent|dlfcn|elf|errno|execinfo|fcntl|fenv|float|fnmatch|getopt|glob|ifaddrs|" \
          "immintrin|iconv|inttypes|langinfo|link|limits|locale|malloc|math|netdb|poll|pthread|pwd|sched|semaphore|" \
          "setjmp|signal|spawn|stdbool|stddef|stdint|stdio|stdlib|string|strings|termios|time|ucontext|unistd|" \
          "wchar)\\.h$"
      }

      function room_of(path,    folder, best) {
        for (folder in may) if (index(path, folder) == 1 && length(folder) > length(best)) best = folder
        return best
      }

      function folder_of(path) {
        sub(/[^\/]*$/, "", path)
        return path
      }

      function allows(room, name, quoted,    kinds, n, i, k) {
        n = split(may[room], kinds, " ")
        for (i = 1; i <= n; i++) {
          if (kinds[i] ~ /\// ? quoted && within(name, kinds[i]) : name ~ group[kinds[i]]) return 1
        }
        return 0
      }

      function within(name, folder,    k) {
        if (index(name, folder) != 1) return 0
        for (k in closed) if (index(name, closed[k]) == 1 && index(folder, closed[k]) != 1) return name in opened
        return 1
      }

      /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
        name = $0
        sub(/^[^<"]*/, "", name)
        quoted = name ~ /^"/
        name = substr(name, 2)
        sub(/[>"].*/, "", name)
        room = room_of(FILENAME)
        if (!allows(room, name, quoted)) {
          printf "%s:%d: includes %s; %s may include: %s\n", FILENAME, FNR, name, room, may[room]
          broken = 1
        }
        from = folder_of(FILENAME)
        to = folder_of(name)
        if (quoted && from != to && !((from, to) in first)) first[from, to] = FILENAME ":" FNR
      }
      /table\("(run|loader|train|val|snapshot)"\)/ && FILENAME != "pipeline/base/config/config.h" {
        printf "%s:%d: reads a table by name: write config.run(), config.loader() …\n", FILENAME, FNR
        broken = 1
      }
      END {
        for (pair in first) {
          split(pair, ends, SUBSEP)
          if (ends[1] > ends[2] || !((ends[2], ends[1]) in first)) continue
          printf "%s: %s and %s include each other; see %s, too\n", first[pair], ends[1], ends[2],
            first[ends[2], ends[1]]
          broken = 1
        }
        exit broken
      }
    '
)

self_test() {
  local tree failures=0 path include expected out
  tree=$(mktemp -d)
  # shellcheck disable=SC2064  # now is when the name is known
  trap "rm -rf -- '$tree'" EXIT
  while read -r expected path include; do
    rm -rf -- "${tree:?}"/*
    mkdir -p -- "$tree/$(dirname -- "$path")"
    printf '// one\n#include <vector>\n  #  include %s  // why\n' "$include" >"$tree/$path"
    if out=$(check "$tree"); then
      if [[ $expected == bad ]]; then echo "not refused: $path including $include" && failures=$((failures + 1)); fi
    elif [[ $expected == good ]]; then
      echo "refused: $out" && failures=$((failures + 1))
    elif [[ $out != "$path:3: includes ${include:1:-1}; "*" may include: std"* ]]; then
      echo "refused with another message: $out" && failures=$((failures + 1))
    fi
  done <<'CASES'
bad  sampling/a.h                           <torch/torch.h>
bad  sampling/a.cpp                         <spdlog/spdlog.h>
bad  sampling/a.cpp                         <toml++/toml.h>
bad  sampling/a.cpp                         "stages/loader/slab.h"
bad  sampling/plugins/a.cpp                 "sampling/sampler.h"
bad  sampling/a.cpp                         "order.h"
bad  sampling/a.cpp                         "../sampling/order.h"
good sampling/codecs/a.cpp                  <jpeglib.h>
good sampling/a.cpp                         <sys/mman.h>
good sampling/a.cpp                         "sampling/order.h"
good sampling/plugins/a.cpp                 "sampling/plugin.hpp"
bad  sampling/a.cpp                         <curl/curl.h>
bad  sampling/datasets/a.cpp                "sampling/remote/http_client.h"
bad  sampling/remote/a.cpp                  <jpeglib.h>
good sampling/datasets/a.cpp                "sampling/remote/remote.h"
good sampling/remote/a.cpp                  <curl/curl.h>
good sampling/remote/a.cpp                  "sampling/remote/exchange.h"
bad  nets/a.cpp                             "sampling/dataset.h"
bad  nets/a.cpp                             "stages/hooks/hook.h"
good nets/a.cpp                             "sampling/core/error.h"
bad  nets/layers/a.cpp                      <nlohmann/json.hpp>
good nets/layers/a.cpp                      <torch/torch.h>
good nets/a.cpp                             "nets/net.h"
bad  stages/a.cpp                           <torch/types.h>
bad  stages/a.h                             <ATen/core/Tensor.h>
bad  stages/a.cpp                           "nets/net.h"
bad  stages/a.cpp                           "stages/torch/compute.h"
bad  stages/a.cpp                           "stages/cuda/handles.h"
bad  stages/a.cpp                           "pipeline/engine/graph/graph.h"
bad  stages/a.cpp                           <oneapi/tbb/flow_graph.h>
good stages/a.cpp                           "stages/device/cuda_entry.h"
good stages/a.cpp                           "nets/entries.h"
good stages/a.h                             <concurrentqueue.h>
good stages/torch/a.cpp                     <torch/torch.h>
good stages/torch/a.cpp                     "nets/net.h"
good stages/torch/a.cpp                     "stages/torch/adapter.h"
bad  stages/torch/a.cpp                     "pipeline/engine/graph/graph.h"
bad  stages/torch/a.cpp                     "pipeline/plugin.h"
good stages/torch/plugins/a.cpp             "pipeline/plugin.h"
good stages/torch/plugins/a.cpp             "nets/steps/step.h"
bad  stages/cuda/a.cu                       <torch/torch.h>
bad  stages/cuda/a.cu                       "stages/loader/slab.h"
good stages/cuda/a.cu                       <cuda_runtime_api.h>
good stages/cuda/a.cu                       <cuda_fp16.h>
good stages/cuda/cornernet_ops.cpp          <torch/library.h>
bad  stages/cuda/a.cu                       "sampling/images/mix.h"
good stages/cuda/a.cu                       "sampling/images/pixel_rule.h"
good stages/cuda/a.cu                       "stages/device/device.h"
bad  stages/cuda/a.cu                       <nvtx3/nvToolsExt.h>
bad  stages/a.cpp                           <nvtx3/nvToolsExt.h>
good stages/cuda/ranges.cpp                 <nvtx3/nvToolsExt.h>
bad  stages/nccl/a.cpp                      "stages/device/device.h"
bad  stages/torch/a.cpp                     "stages/nccl/entry.h"
good stages/nccl/a.cpp                      <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
good pipeline/base/distributed/a.cpp        "stages/nccl/entry.h"
bad  pipeline/engine/graph/graph.cpp        <torch/torch.h>
bad  pipeline/engine/graph/graph.cpp        "stages/torch/compute.h"
bad  pipeline/base/config/a.cpp             "nets/net.h"
good pipeline/base/config/a.cpp             "nets/entries.h"
bad  pipeline/base/config/a.cpp             <torch/version.h>
good pipeline/plugin.h                      <torch/version.h>
bad  pipeline/base/snapshot/a.cpp           <c10/util/Exception.h>
bad  pipeline/commands/a.cpp                <torch/torch.h>
bad  pipeline/commands/a.cpp                "tests/support/fakes.h"
bad  pipeline/commands/a.cpp                "stages/torch/compute.h"
bad  pipeline/commands/a.cpp                "pipeline/library/computing/ranks.h"
good pipeline/commands/a.cpp                "pipeline/library/computing.h"
good pipeline/library/computing/a.cpp       "stages/torch/compute.h"
bad  pipeline/library/a.cpp                 "stages/torch/compute.h"
bad  pipeline/library/a.cpp                 "pipeline/commands/flags.h"
bad  pipeline/base/config/a.cpp             "pipeline/engine/graph/graph.h"
bad  pipeline/engine/graph/a.cpp            "pipeline/runs/report_page/report_page.h"
bad  pipeline/runs/verify/a.cpp             "pipeline/engine/session/session.h"
bad  pipeline/tools/bench/a.cpp             "pipeline/inference/predict/predict.h"
bad  pipeline/inference/predict/a.cpp       "pipeline/tools/bench/bench.h"
good pipeline/inference/predict/a.cpp       "pipeline/engine/session/session.h"
good pipeline/runs/verify/a.cpp             "pipeline/base/config/config.h"
good pipeline/commands/a.cpp                "pipeline/commands/flags.h"
good pipeline/commands/a.cpp                <CLI/CLI.hpp>
good pipeline/commands/main.cpp             "pipeline/commands/commands.h"
bad  pipeline/engine/graph/graph.cpp        "pipeline/commands/flags.h"
good pipeline/engine/graph/graph.cpp        <oneapi/tbb/flow_graph.h>
good pipeline/base/distributed/a.cpp        <torch/csrc/distributed/c10d/TCPStore.hpp>
CASES
  rm -rf -- "${tree:?}"/*
  mkdir -p -- "$tree/sampling/a" "$tree/sampling/b"
  echo '#include "sampling/b/b.h"' >"$tree/sampling/a/a.h"
  echo '#include "sampling/a/c.h"' >"$tree/sampling/b/b.h"
  if check "$tree" >/dev/null; then
    echo 'not refused: two folders that include each other' && failures=$((failures + 1))
  fi
  rm -rf -- "${tree:?}"/*
  mkdir -p -- "$tree/pipeline/engine/a"
  echo 'int rows = config.table("loader").integer("batch_max");' >"$tree/pipeline/engine/a/a.cpp"
  if check "$tree" >/dev/null; then
    echo 'not refused: a key that is read by its name' && failures=$((failures + 1))
  fi
  ((failures == 0))
}

if [[ ${1:-} == --self-test ]]; then
  self_test && echo 'layers: every wrong snippet was refused, every right one passed'
else
  check "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}" && echo 'layers: nothing breaks the order of the rooms'
fi
