#pragma once
// Named tensors: what batches, outputs, losses and states are made of.

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace flowtrain::nets {

/// Tensors by name, in the order they were added.
class NamedTensors {
 public:
  using Item = std::pair<std::string, at::Tensor>;

  NamedTensors() = default;
  NamedTensors(std::initializer_list<Item> items) : items_(items) {}

  /// Throws std::invalid_argument naming the missing name and those that are there.
  const at::Tensor& at(const std::string& name) const;
  bool contains(const std::string& name) const;
  /// Appends; the name must not be there yet.
  void add(std::string name, at::Tensor tensor) { items_.emplace_back(std::move(name), std::move(tensor)); }
  /// Adds, or replaces in place.
  void set(const std::string& name, at::Tensor tensor);
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<Item> items_;
};

}  // namespace flowtrain::nets
