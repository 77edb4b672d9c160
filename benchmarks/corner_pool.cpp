// Corner pooling's forward on the CPU as a share of the machine's copy bandwidth: a copy reads and writes each element
// once, and so does the pooling; with a gradient to come it also writes a byte for each element. Into memory that is
// there, as the copy; and as nets call it, with memory fresh from the system, against clone(). Medians, in one run, on
// the map of CornerNet's heads.
//
//     build/release/bin/bench_corner_pool [pictures]

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "nets/cornernet/corner_pool.h"
#include "nets/cornernet/running_max.h"

using namespace flowtrain::nets;

namespace {

template <class Work>
double median_seconds(Work work) {
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const torch::NoGradGuard no_gradients;
  const std::int64_t pictures = argc > 1 ? std::atoll(argv[1]) : 8;
  const std::int64_t side = 128, channels = 128;
  const std::pair<const char*, CornerPool> directions[] = {{"top", CornerPool::top},
                                                           {"bottom", CornerPool::bottom},
                                                           {"left", CornerPool::left},
                                                           {"right", CornerPool::right}};
  for (const auto layout : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const bool channels_last = layout == at::MemoryFormat::ChannelsLast;
    const auto x = torch::rand({pictures, channels, side, side}).contiguous(layout).relu();
    auto y = torch::zeros_like(x), marks = torch::zeros_like(x, x.options().dtype(torch::kByte));
    const double copy_s = median_seconds([&] { y.copy_(x); }), clone_s = median_seconds([&] { x.clone(); });
    const double gigabytes = 2 * static_cast<double>(x.nbytes()) / 1e9;
    std::printf("%s, %d threads: copy %.1f GB/s, clone %.1f GB/s\n", channels_last ? "NHWC" : "NCHW",
                at::get_num_threads(), gigabytes / copy_s, gigabytes / clone_s);
    for (auto& [name, direction] : directions) {
      const bool rows = direction == CornerPool::top || direction == CornerPool::bottom;
      const bool backwards = direction == CornerPool::top || direction == CornerPool::left;
      const std::int64_t inner = (rows ? side : 1) * (channels_last ? channels : 1);
      const double pool_s =
          median_seconds([&] { cornernet::running_max_cpu(x, side, inner, backwards, y, std::nullopt); });
      const double marked_s = median_seconds([&] { cornernet::running_max_cpu(x, side, inner, backwards, y, marks); });
      const double called_s = median_seconds([&] { corner_pool(x, direction); });
      std::printf(
          "  %-6s %5.1f GB/s, %3.0f %% of the copy; to be differentiated %3.0f %%; as called, of the clone %3.0f %%\n",
          name, gigabytes / pool_s, 100 * copy_s / pool_s, 100 * copy_s / marked_s, 100 * clone_s / called_s);
    }
  }
}
