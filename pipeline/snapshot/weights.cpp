#include "pipeline/snapshot/weights.h"

#include <unordered_map>
#include <unordered_set>

namespace flowtrain {
namespace {

constexpr std::string_view ddp_prefix = "module.";

bool floating(std::string_view dtype) { return dtype.starts_with('F') || dtype == "BF16"; }

bool fits(const TensorView& source, const WantedTensor& wanted) {
  return source.shape == wanted.shape &&
         (source.dtype == wanted.dtype || (floating(source.dtype) && floating(wanted.dtype)));
}

}  // namespace

WeightMatch match_weights(std::span<const TensorView> file, std::span<const WantedTensor> wanted) {
  std::unordered_map<std::string_view, const TensorView*> by_name;
  for (const auto& tensor : file) by_name.emplace(tensor.name, &tensor);
  // After the full names, which win over stripped ones.
  for (const auto& tensor : file)
    if (tensor.name.starts_with(ddp_prefix))
      by_name.emplace(std::string_view(tensor.name).substr(ddp_prefix.size()), &tensor);

  WeightMatch match;
  std::unordered_set<const TensorView*> used;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto found = by_name.find(wanted[i].name);
    if (found == by_name.end()) {
      // Torch before 0.4.1 did not count batches; nothing is computed from the count with a fixed momentum.
      if (!wanted[i].name.ends_with(".num_batches_tracked")) match.missing.push_back(wanted[i].name);
      continue;
    }
    const TensorView& source = *found->second;
    used.insert(&source);
    if (fits(source, wanted[i]))
      match.matched.push_back({i, source});
    else
      match.misshapen.push_back(wanted[i].name + ": " + source.dtype + " " + shape_text(source.shape) +
                                " in the file, " + wanted[i].dtype + " " + shape_text(wanted[i].shape) + " wanted");
  }
  for (const auto& tensor : file)
    if (!used.contains(&tensor)) match.unexpected.push_back(tensor.name);
  return match;
}

}  // namespace flowtrain
