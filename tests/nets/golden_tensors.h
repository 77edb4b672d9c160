#pragma once
// Golden files of nets: tensors by their names.

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "nets/net.h"
#include "sampling/core/safetensors.h"
#include "tests/support/paths.h"

namespace flowtrain::nets {

/// Adds the tensors of a file of safetensors, f32 or i64.
inline void read_tensors(const std::filesystem::path& path, NamedTensors& to) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.is_open(), path.string());
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  for (const auto& view : parse_safetensors(std::as_bytes(std::span(bytes)), path.string()).tensors) {
    const at::Tensor tensor = at::empty(view.shape, view.dtype == "I64" ? at::kLong : at::kFloat);
    std::memcpy(tensor.data_ptr(), view.data, view.bytes);
    to.add(view.name, tensor);
  }
}

inline NamedTensors golden(const std::string& name) {
  NamedTensors tensors;
  read_tensors(test::source_path("tests/nets/golden/" + name), tensors);
  return tensors;
}

/// Gives each of the tensors its value of the same name.
inline void set_tensors(const NamedTensors& tensors, const NamedTensors& values) {
  const c10::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) {
    CAPTURE(name);
    REQUIRE(tensor.sizes() == values.at(name).sizes());
    tensor.copy_(values.at(name));
  }
}

/// Compares the gradients with those called gradient.<name>.
inline void check_gradients(const Net& net, const NamedTensors& expected) {
  for (const auto& [name, parameter] : net.parameters()) {
    CAPTURE(name);
    REQUIRE(parameter.grad().defined());
    CHECK((parameter.grad() - expected.at("gradient." + name)).abs().max().item<double>() < 1e-5);
  }
}

}  // namespace flowtrain::nets
