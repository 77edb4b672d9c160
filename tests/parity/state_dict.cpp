#include "tests/parity/state_dict.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "tests/parity/ops.h"

namespace flowtrain::parity {
namespace {

std::string module_of(const std::string& name) { return name.substr(0, name.rfind('.') + 1); }

}  // namespace

std::vector<Entry> state_dict(const NamedTensors& parameters, const NamedTensors& buffers) {
  std::vector<Entry> entries;
  auto buffer = buffers.begin();
  for (auto parameter = parameters.begin(); parameter != parameters.end(); ++parameter) {
    entries.push_back({parameter->first, parameter->second, true});
    const std::string module = module_of(parameter->first);
    const auto next = parameter + 1;
    if (next != parameters.end() && module_of(next->first) == module) continue;
    for (; buffer != buffers.end() && module_of(buffer->first) == module; ++buffer) {
      entries.push_back({buffer->first, buffer->second, false});
    }
  }
  if (buffer != buffers.end()) throw BadCall("buffer " + buffer->first + ": its module has no parameters");
  return entries;
}

void load(const std::vector<Entry>& entries, const NamedTensors& weights) {
  const c10::NoGradGuard no_gradients;
  const std::string prefix = "module.";
  NamedTensors given;
  for (const auto& [name, tensor] : weights) {
    const std::string plain = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    if (given.contains(plain)) throw BadCall("weights: " + plain + " is there with and without module.");
    given.set(plain, tensor);
  }
  std::size_t used = 0;
  for (const Entry& entry : entries) {
    at::Tensor to = entry.tensor;
    if (!given.contains(entry.name)) {
      if (!entry.name.ends_with("num_batches_tracked")) throw BadCall("weights: " + entry.name + " is missing");
      to.zero_();
      continue;
    }
    const at::Tensor from = input(given, entry.name, to.scalar_type(), to.sizes().vec());
    to.copy_(from);
    ++used;
  }
  if (used == given.size()) return;
  NamedTensors known;
  for (const Entry& entry : entries) known.set(entry.name, entry.tensor);
  for (const auto& [name, tensor] : given) {
    if (!known.contains(name)) throw BadCall("weights: " + name + " is none of the net's entries");
  }
}

}  // namespace flowtrain::parity
