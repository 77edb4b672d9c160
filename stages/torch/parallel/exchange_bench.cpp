#include "stages/torch/parallel/exchange_bench.h"

#include <torch/types.h>

#include <chrono>

#include "stages/torch/parallel/torch_group.h"

namespace flowtrain {

std::vector<double> time_all_reduce(Group& group, const std::string& device, std::size_t bytes, std::size_t count) {
  using Clock = std::chrono::steady_clock;
  auto& members = dynamic_cast<TorchGroup&>(group);
  const at::Device where(device);
  // The values are zeros, whose sums stay zero.
  std::vector<at::Tensor> values{torch::zeros({static_cast<std::int64_t>(bytes / sizeof(float))}, where)};
  std::vector<double> times;
  in_collective(members, "an all-reduce", [&] {
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = Clock::now();
      members.processes()->allreduce(values)->wait();
      if (!where.is_cpu()) values.front()[0].item();  // wait() only orders the device's streams
      times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
  });
  return times;
}

}  // namespace flowtrain
