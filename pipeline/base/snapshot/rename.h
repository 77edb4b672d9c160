#pragma once
// Renames the tensors of a file from another program to the names of the net.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/safetensors.h"

namespace flowtrain {

/// What is done to the names of a file's tensors before they are matched with a net's.
class Renaming {
 public:
  /// `drop`: regular expressions (sampling/core/pattern.h) of tensors to leave out, found anywhere in a name. `rename`:
  /// "PATTERN -> TEXT", each applied to the name that the one before gave, with $1 … in TEXT; or the name of a set of
  /// such rules: "cornernet" (the names of princeton-vl/CornerNet to those of CornerNet-Lite). Throws UserError(usage)
  /// naming the rule that is none.
  Renaming(const std::vector<std::string>& drop, const std::vector<std::string>& rename);
  ~Renaming();

  /// The tensors that are left, under their new names. Throws UserError(usage) where two come to the same name, or a
  /// pattern of `drop` meets no tensor, and for a rule that cannot be used on a name.
  std::vector<TensorView> operator()(std::span<const TensorView> tensors) const;
  /// The new name of a tensor. Throws UserError(usage) for a rule that cannot be used on it.
  std::string renamed(std::string name) const;

 private:
  struct Rules;
  std::unique_ptr<const Rules> rules_;
};

}  // namespace flowtrain
