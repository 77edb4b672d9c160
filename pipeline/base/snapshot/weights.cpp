#include "pipeline/base/snapshot/weights.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "sampling/core/error.h"
#include "sampling/core/safetensors.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

constexpr std::string_view parallel_prefix = "module.";
constexpr std::string_view wrappers[] = {"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."};

bool floating(std::string_view dtype) { return dtype.starts_with('F') || dtype == "BF16"; }

bool fits(const TensorView& source, const WantedTensor& wanted) {
  return source.shape == wanted.shape &&
         (source.dtype == wanted.dtype || (floating(source.dtype) && floating(wanted.dtype)));
}

/// Returns whether a tensor is a causal mask, which models of transformers once stored as a buffer of attention.
bool is_causal_mask(const TensorView& tensor) {
  const auto& shape = tensor.shape;
  if (tensor.name.ends_with(".masked_bias")) return shape.empty();
  return tensor.name.ends_with(".bias") && shape.size() == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] == shape[3];
}

/// Returns whether a tensor that the net does not have repeats a matrix that it has: one that two layers share.
bool is_repeated(const TensorView& tensor, const WeightMatch& match) {
  if (tensor.shape.size() < 2 || !tensor.data) return false;
  return std::ranges::any_of(match.matched, [&](const WeightMatch::Pair& pair) {
    const TensorView& other = pair.source;
    return other.data && other.dtype == tensor.dtype && other.shape == tensor.shape &&
           std::memcmp(other.data, tensor.data, tensor.bytes) == 0;
  });
}

/// Counts, for each beginning of a name, the names whose rest is among `others`.
void count_prefixes(const std::string& name, const std::unordered_set<std::string_view>& others,
                    std::unordered_map<std::string, std::size_t>& counts) {
  for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    if (others.contains(std::string_view(name).substr(dot + 1))) ++counts[name.substr(0, dot + 1)];
}

}  // namespace

std::string unwrapped_name(std::string_view name) {
  std::string bare(name);
  for (const auto wrapper : wrappers)
    for (std::size_t at = 0; (at = bare.find(wrapper, at)) != std::string::npos;)
      if (at == 0 || bare[at - 1] == '.')
        bare.erase(at, wrapper.size());
      else
        at += wrapper.size();
  while (bare.starts_with(parallel_prefix)) bare.erase(0, parallel_prefix.size());
  return bare;
}

void unwrap_names(std::vector<TensorView>& tensors) {
  std::vector<std::string> names;
  std::unordered_set<std::string> different;
  for (const auto& tensor : tensors) {
    names.push_back(unwrapped_name(tensor.name));
    if (names.back() == tensor.name || !different.insert(names.back()).second) return;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].name = std::move(names[i]);
}

NamePrefix name_prefix(std::span<const TensorView> file, std::span<const WantedTensor> wanted) {
  std::unordered_set<std::string_view> in_file, in_net;
  for (const auto& tensor : file) in_file.insert(tensor.name);
  for (const auto& tensor : wanted) in_net.insert(tensor.name);
  std::unordered_map<std::string, std::size_t> of_file, of_net;
  for (const auto& tensor : file) count_prefixes(tensor.name, in_net, of_file);
  for (const auto& tensor : wanted) count_prefixes(tensor.name, in_file, of_net);
  std::vector<NamePrefix> all;
  for (const auto* counts : {&of_file, &of_net})
    for (const auto& [prefix, fit] : *counts) all.push_back({prefix, counts == &of_file, fit});
  std::ranges::sort(
      all, [](const NamePrefix& a, const NamePrefix& b) { return a.fit != b.fit ? a.fit > b.fit : a.text < b.text; });
  if (all.empty()) return {};
  if (all.size() > 1 && all[1].fit == all[0].fit) all[0].fits_as_well = all[1].text;
  return all[0];
}

std::string NamePrefix::rule() const {
  std::string pattern;
  for (const char c : text) pattern += c == '.' ? "\\." : std::string(1, c);
  return of_file ? concat("^", pattern, " -> ") : concat("^ -> ", text);
}

void fit_prefix(std::vector<TensorView>& file, std::span<const WantedTensor> wanted) {
  const WeightMatch match = match_weights(file, wanted);
  if (!match.matched.empty() || !match.misshapen.empty()) return;
  const NamePrefix prefix = name_prefix(file, wanted);
  if (prefix.fit < wanted.size()) return;
  if (!prefix.fits_as_well.empty())
    throw UserError(ExitCode::usage,
                    concat("all names of the net fit in two ways: without the prefix ", shown(prefix.text), " or ",
                           shown(prefix.fits_as_well)),
                    concat("choose one: net.pretrain_rename = ['", prefix.rule(), "']"));
  for (TensorView& tensor : file)
    if (!prefix.of_file)
      tensor.name = prefix.text + tensor.name;
    else if (tensor.name.starts_with(prefix.text))
      tensor.name.erase(0, prefix.text.size());
}

WeightMatch match_weights(std::span<const TensorView> file, std::span<const WantedTensor> wanted) {
  std::unordered_map<std::string_view, const TensorView*> by_name;
  std::unordered_map<std::string, const TensorView*> by_unwrapped;
  for (const auto& tensor : file) {
    by_name.emplace(tensor.name, &tensor);
    by_unwrapped.emplace(unwrapped_name(tensor.name), &tensor);
  }
  const auto find = [&](const std::string& name) -> const TensorView* {
    if (const auto found = by_name.find(name); found != by_name.end()) return found->second;
    const auto found = by_unwrapped.find(unwrapped_name(name));
    return found == by_unwrapped.end() ? nullptr : found->second;
  };

  WeightMatch match;
  std::unordered_set<const TensorView*> used;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const TensorView* const found = find(wanted[i].name);
    if (!found) {
      // Torch before 0.4.1 did not count batches; the count is unused with a fixed momentum.
      if (!wanted[i].name.ends_with(".num_batches_tracked")) match.missing.push_back(wanted[i].name);
      continue;
    }
    const TensorView& source = *found;
    used.insert(&source);
    if (fits(source, wanted[i]))
      match.matched.push_back({i, source});
    else
      match.misshapen.push_back(wanted[i].name + ": " + source.dtype + " " + shape_text(source.shape) +
                                " in the file, " + wanted[i].dtype + " " + shape_text(wanted[i].shape) + " wanted");
  }
  for (const auto& tensor : file)
    if (!used.contains(&tensor) && !is_causal_mask(tensor) && !is_repeated(tensor, match))
      match.unexpected.push_back(tensor.name);
  return match;
}

}  // namespace flowtrain
