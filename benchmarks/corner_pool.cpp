// Corner pooling's forward on the CPU as a share of the machine's copy bandwidth: a copy reads and writes each element
// once, and so does the pooling. Both in one run, on the map of CornerNet's heads.
//
//     build/release/bin/bench_corner_pool [pictures]

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "nets/cornernet/corner_pool.h"

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
  for (const auto layout : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const auto x = torch::rand({pictures, 128, 128, 128}).contiguous(layout).relu();
    auto copy = torch::empty_like(x);
    const double copied = median_seconds([&] { copy.copy_(x); });
    const double gigabytes = 2 * static_cast<double>(x.nbytes()) / 1e9;
    std::printf("%s, %d threads: copy %.1f GB/s\n", layout == at::MemoryFormat::Contiguous ? "NCHW" : "NHWC",
                at::get_num_threads(), gigabytes / copied);
    const std::pair<const char*, CornerPool> directions[] = {
        {"top", CornerPool::top}, {"bottom", CornerPool::bottom}, {"left", CornerPool::left}, {"right", CornerPool::right}};
    for (auto& [name, direction] : directions) {
      at::Tensor kept;  // its memory is used again by the next call, as the copy's is
      const double pooled = median_seconds([&] { kept = at::Tensor(), kept = corner_pool(x, direction); });
      std::printf("  %-6s %5.1f GB/s, %3.0f %% of the copy\n", name, gigabytes / pooled, 100 * copied / pooled);
    }
  }
}
