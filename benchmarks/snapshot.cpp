// Measures the cost of a snapshot for training: the copy of a ResNet-18's weights and momentum (90 MB), beside a plain
// memcpy of as many bytes. Both are measured in one run, so that changes of the machine's speed cancel out.
//
//     build/release/bin/bench_snapshot

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/part_kinds.h"
#include "sampling/core/settings.h"
#include "stages/torch/learner/learner.h"

using namespace flowtrain;

namespace {

template <class Body>
double median_s(Body body) {
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  return times[10];
}

Settings core(const std::string& table) { return Settings(table, core_keys(table)); }
Settings part(const std::string& table, const std::string& name) { return Settings(table, keys_with(table, name)); }

}  // namespace

int main() {
  const Settings net = part("net", "resnet18"), loss = part("loss", "cross_entropy"), train = core("train"),
                 run = core("run"), val = core("val");
  Settings optim = part("optim", "sgd");
  optim.set("momentum", 0.9, {});
  const SlabLayout layout({{"image", DType::u8, {64, 64, 3}}, {"label", DType::i64, {}}}, 8);
  const std::vector<Settings> optims{optim}, groups;
  LearnerSpec spec{{net, loss, optims, groups, train, run, val}, {layout}};
  spec.data.classes = 1000;
  const auto learner = make_torch_learner(spec);

  LearnerState state;
  learner->copy_state(state);  // allocates; from now on the memory is there
  std::vector<const std::vector<std::byte>*> from;
  std::size_t bytes = 0;
  for (auto* part : {&state.model, &state.optim})
    for (auto& tensor : *part) {
      from.push_back(&tensor.bytes);
      bytes += tensor.bytes.size();
    }
  std::vector<std::vector<std::byte>> to;
  to.reserve(from.size());
  for (auto* source : from) to.push_back(*source);

  for (int round = 0; round < 3; ++round) {
    const double plain = median_s([&] {
      for (std::size_t i = 0; i < from.size(); ++i) std::memcpy(to[i].data(), from[i]->data(), from[i]->size());
    });
    const double copy = median_s([&] { learner->copy_state(state); });
    std::printf("%.1f MB: memcpy %.1f ms, copy_state %.1f ms, ratio %.2f\n", static_cast<double>(bytes) / 1e6,
                plain * 1e3, copy * 1e3, copy / plain);
  }
}
