#pragma once
// Named tensors: the type of batches, outputs, losses and states.

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace flowtrain::nets {

/// Tensors by name, in the order in which they were added.
class NamedTensors {
 public:
  using Item = std::pair<std::string, at::Tensor>;

  NamedTensors() = default;
  NamedTensors(std::initializer_list<Item> items) : items_(items) {}

  /// Throws std::invalid_argument, whose message has the missing name and the names that exist.
  const at::Tensor& at(const std::string& name) const;
  bool contains(const std::string& name) const;
  /// Appends a tensor; the name must be new.
  void add(std::string name, at::Tensor tensor) { items_.emplace_back(std::move(name), std::move(tensor)); }
  /// Adds a tensor, or replaces it in place.
  void set(const std::string& name, at::Tensor tensor);
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<Item> items_;
};

}  // namespace flowtrain::nets
