#include "pipeline/base/snapshot/average.h"

#include <algorithm>
#include <cstring>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

const TensorView& same_in(const OpenSnapshot& snapshot, const TensorView& tensor) {
  const auto& all = snapshot.model.tensors();
  const auto found = std::ranges::find(all, tensor.name, &TensorView::name);
  if (found != all.end() && found->dtype == tensor.dtype && found->shape == tensor.shape) return *found;
  throw UserError(ExitCode::snapshot,
                  concat("the snapshot of iteration ", snapshot.iteration, " has no ", tensor.name, " of type ",
                         tensor.dtype, " and shape ", shape_text(tensor.shape), ", as the first one has"),
                  "only weights of the same net can be averaged");
}

template <class Number>
void average(std::span<const OpenSnapshot> snapshots, const TensorView& first, StateTensor& into) {
  std::vector<double> sums(first.bytes / sizeof(Number));
  for (auto& snapshot : snapshots) {
    const TensorView& tensor = same_in(snapshot, first);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      Number value;
      std::memcpy(&value, tensor.data + i * sizeof value, sizeof value);
      sums[i] += static_cast<double>(value);
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto mean = static_cast<Number>(sums[i] / static_cast<double>(snapshots.size()));
    std::memcpy(into.bytes.data() + i * sizeof mean, &mean, sizeof mean);
  }
}

}  // namespace

std::vector<StateTensor> averaged_weights(std::span<const OpenSnapshot> snapshots) {
  std::vector<StateTensor> all;
  for (auto& tensor : snapshots.front().model.tensors()) {
    const TensorView& last = same_in(snapshots.back(), tensor);
    StateTensor& mean = all.emplace_back(
        StateTensor{tensor.name, tensor.dtype, tensor.shape, false, {last.data, last.data + last.bytes}});
    if (tensor.dtype == "F32")
      average<float>(snapshots, tensor, mean);
    else if (tensor.dtype == "F64")
      average<double>(snapshots, tensor, mean);
    else if (tensor.dtype.starts_with('F') || tensor.dtype == "BF16")
      throw UserError(ExitCode::snapshot, concat(tensor.name, " is of type ", tensor.dtype, ", which is not averaged"),
                      "only weights of type F32 and F64 can be averaged");
  }
  for (auto& snapshot : snapshots)
    if (snapshot.model.tensors().size() != all.size())
      throw UserError(ExitCode::snapshot,
                      concat("the snapshot of iteration ", snapshot.iteration, " has ", snapshot.model.tensors().size(),
                             " tensors, the first one ", all.size()),
                      "only weights of the same net can be averaged");
  return all;
}

}  // namespace flowtrain
