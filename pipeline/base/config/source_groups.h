#pragma once
// Sources of training data whose rows are groups of a batch.

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/base/config/config.h"

namespace flowtrain {

/// Returns the name of a [[data.source]] in messages, and in the names of its fields.
const std::string& name_of_source(const Settings& source);

/// Returns whether the [[data.source]]s have `rows`: each is then a group of every batch's rows, with its own fields.
bool has_groups(const Config& config);

/// Returns the rows of each group in a batch, in the order of the [[data.source]]s; empty without groups.
std::vector<std::uint32_t> rows_of_groups(const Config& config);

/// Returns the number of the group whose fields validation has, by val.source; there must be groups.
std::size_t group_of_validation(const Config& config);

/// Returns the [[field]]s of the group of that number; there must be groups.
std::vector<Settings> fields_of_group(const Config& config, std::size_t group);

/// Returns the [[field]]s of the rows of validation, tests and predictions: all, or those of the group that val.source
/// names.
std::vector<Settings> validation_fields(const Config& config);

/// Throws UserError(usage) at the rows of the first source if there are groups, for what cannot use them: `why`.
void refuse_groups(const Config& config, const std::string& why, const std::string& hint);

/// Throws UserError(usage) for keys of groups that do not fit together, and for such keys if there are no groups.
void check_groups(const Config& config);

}  // namespace flowtrain
