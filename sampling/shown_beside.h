#pragma once
// Shows a field together with another field of its row, such as the tags of words with the words.

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "sampling/shown.h"

namespace flowtrain {

/// A Field::show that shows two fields as one where show_row() has both, and else the first one alone.
struct ShowBeside {
  std::string beside;  ///< name of the other field
  ShowValue alone;
  /// Shows the field with the other one, both as the row has them without padding.
  std::function<Shown(const Field& field, std::span<const std::byte> value, const Field& other,
                      std::span<const std::byte> beside)>
      together;

  Shown operator()(const Field& field, std::span<const std::byte> value) const { return alone(field, value); }
};

}  // namespace flowtrain
