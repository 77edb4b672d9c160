#pragma once
// Data sets whose records have names of their own.

#include <string>

#include "sampling/dataset.h"

namespace flowtrain {

/// A data set that can be split by names (sampling/sources/hold_out.h).
class NamedDataset : public Dataset {
 public:
  /// The name of a record within its data set, whatever folder that lies in and whatever other records it has. Records
  /// that belong together (parts of one picture) share it.
  virtual std::string name(std::uint64_t id) const = 0;
  /// False where training and validation get the same records, as no split was named and none was found.
  virtual bool has_split() const { return true; }
  /// The place of the records, for a run's first lines: "pets/train". Empty: the configuration says it.
  virtual std::string place() const { return {}; }
  /// Sentences on what lies beside the records and is not used.
  virtual std::vector<std::string> notes() const { return {}; }
};

/// The name of a record of a NamedDataset, of any other one its number.
inline std::string name_of(const Dataset& dataset, std::uint64_t id) {
  const auto* named = dynamic_cast<const NamedDataset*>(&dataset);
  return named ? named->name(id) : std::to_string(id);
}

}  // namespace flowtrain
