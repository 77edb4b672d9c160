#pragma once
// Renames the tensors of a file from another program to the names of the net.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/safetensors.h"

namespace flowtrain {

/// Changes the names of a file's tensors before they are matched with a net's.
class Renaming {
 public:
  /// `drop` are regular expressions (sampling/core/pattern.h) of tensors to leave out, found anywhere in a name.
  /// `rename` are rules "PATTERN -> TEXT", each applied to the result of the one before, with $1 … in TEXT; or the name
  /// of a set of such rules: "cornernet" (the names of princeton-vl/CornerNet to those of CornerNet-Lite). Throws
  /// UserError(usage) with the invalid rule.
  Renaming(const std::vector<std::string>& drop, const std::vector<std::string>& rename);
  ~Renaming();

  /// Returns the remaining tensors, under their new names. Throws UserError(usage) if two get the same name, or a
  /// pattern of `drop` matches no tensor, and for a rule that cannot be used on a name.
  std::vector<TensorView> operator()(std::span<const TensorView> tensors) const;
  /// Returns the new name of a tensor. Throws UserError(usage) for a rule that cannot be used on it.
  std::string renamed(std::string name) const;

 private:
  struct Rules;
  std::unique_ptr<const Rules> rules_;
};

}  // namespace flowtrain
