#pragma once
// The public parity cases, and how results are compared with them.

#include <optional>
#include <string>
#include <vector>

#include "tests/parity/ops.h"

namespace flowtrain::parity {

/// A case: inputs and expected values under their short names, and its arguments.
struct Case {
  std::string name;
  NamedTensors tensors;
  json arguments = json::object();

  /// Those of `names`, which an operation gets.
  NamedTensors only(const std::vector<std::string>& names) const;
  /// Those whose names begin with `prefix`, without it.
  NamedTensors below(const std::string& prefix) const;
};

inline constexpr const char* kNoCases = "the parity cases (../shared/parity) are not there";

/// The folder with the cases, which the build has unpacked; nothing where ../shared/parity was not there.
std::optional<std::string> case_folder();

/// A file of cases: "losses" is losses.safetensors.
class CaseFile {
 public:
  CaseFile(const std::string& folder, const std::string& name);

  /// `<case>.` cut off the names, and `in.`, `out.` and `stage.` dropped; the metadata under the case's name, or empty.
  Case cut(const std::string& name) const;
  /// Metadata as they are stored.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const NamedTensors& tensors() const { return tensors_; }

 private:
  std::map<std::string, std::string> metadata_;  // before tensors_: filled while they are read
  NamedTensors tensors_;
};

/// How far two values may be apart: |a - b| ≤ absolute + relative · max(floor, largest |b| of the tensor).
struct Tolerance {
  double absolute = 0, relative = 0, floor = 0;
};
inline constexpr Tolerance exact{};

/// Empty where `got` agrees with `expected` in shape (a scalar may be [1]), dtype and values; else what is wrong.
/// Infinities must be equal; NaN never passes.
std::string difference(const at::Tensor& got, const at::Tensor& expected, const Tolerance& tolerance);

/// Calls an operation as the tool does: an argument that it does not read is an error.
NamedTensors call(const Ops& ops, const std::string& op, const NamedTensors& in, const json& arguments);

}  // namespace flowtrain::parity
