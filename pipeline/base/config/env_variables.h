#pragma once
// Environment variables in the texts of a configuration: "${DATA}/train".

#include <string>

#include "sampling/core/settings.h"

namespace flowtrain {

/// Returns the text with "${NAME}" replaced by the value of that environment variable, and "$${" by "${". Throws
/// UserError(usage), without naming a key, if the variable is not set or the braces hold no name.
std::string expand_variables(const std::string& text);
/// Expands a text, or each text of a list; other values stay as they are.
Value expand_variables(const Value& value);

/// Returns the value that expand_variables() makes `value` of.
Value escape_variables(const Value& value);

/// Returns the text of this value of `settings` for a file, with the variables that it was made of: remember_written()
/// was told of them. Without any it is the escaped value. Any thread may call this.
Value as_written(const Settings& settings, const std::string& key);
/// Notes that the value of `settings`, as it is now, was written as `text`. The note is for its place, key and value,
/// and for the whole process, since settings are copied from table to table, and to other configurations.
void remember_written(const Settings& settings, const std::string& key, const Value& text);

}  // namespace flowtrain
