#include "nets/tensors.h"

#include <algorithm>
#include <stdexcept>

#include "nets/names.h"

namespace flowtrain::nets {
namespace {

template <class Items>
auto find(Items& items, const std::string& name) {
  return std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.first == name; });
}

}  // namespace

const at::Tensor& NamedTensors::at(const std::string& name) const {
  const auto found = find(items_, name);
  if (found != items_.end()) return found->second;
  std::vector<std::string> names;
  for (const Item& item : items_) names.push_back(item.first);
  throw std::invalid_argument("no tensor named '" + name + "'; there are: " + (names.empty() ? "none" : join(names)));
}

bool NamedTensors::contains(const std::string& name) const { return find(items_, name) != items_.end(); }

void NamedTensors::set(const std::string& name, at::Tensor tensor) {
  const auto found = find(items_, name);
  if (found != items_.end()) {
    found->second = std::move(tensor);
  } else {
    items_.emplace_back(name, std::move(tensor));
  }
}

}  // namespace flowtrain::nets
