#pragma once
// The parts of records that a table [[field]] names, and which of its fields are targets.

#include <string>
#include <vector>

#include "sampling/core/settings.h"
#include "sampling/dataset.h"

namespace flowtrain {

/// Keys of a table [[field]] that name parts of records. A transform that takes further parts names them by these keys.
/// Data without the parts of targets can be predicted; a target key is then empty.
inline constexpr const char* input_part_keys[] = {"from", "second"};
inline constexpr const char* target_part_keys[] = {"tags_from"};

/// The parts of records that a table names.
struct FieldParts {
  std::vector<std::string> inputs = {};   ///< parts that the net needs; "" and image_part: the record's own picture
  std::vector<std::string> classes = {};  ///< parts with the classes of records
  std::vector<std::string> targets = {};  ///< parts with other targets
};
/// Finds them by the keys.
FieldParts parts_of(const Settings& field);
/// Returns all parts that the table names.
std::vector<std::string> part_names_of(const Settings& field);

/// Returns the names of those fields of a table that are targets, which predictions do not show: the field of a class,
/// and the labels of tokens.
std::vector<std::string> target_fields_of(const Settings& field);

/// Returns the form of the part that a key names; the picture's has the name image_part. Throws UserError(usage) for a
/// part that the data set lacks.
PartForm part_form(const Settings& field, const char* key, const Dataset& dataset);

/// Returns the table without the targets whose parts the data set lacks.
Settings without_missing_targets(const Settings& field, const Dataset& dataset);

}  // namespace flowtrain
