#pragma once
// Environment variables in the texts of a configuration: "${DATA}/train".

#include <string>

#include "sampling/core/settings.h"

namespace flowtrain {

/// The text with "${NAME}" replaced by the value of that environment variable, and "$${" by "${". Throws
/// UserError(usage), without naming a key, where the variable is not set, or the braces hold no name.
std::string expand_variables(const std::string& text);
/// Expands a text, or each text of a list; other values stay.
Value expand_variables(const Value& value);

/// Returns a text that expands to `value`: the opposite of expand_variables().
Value escape_variables(const Value& value);

/// Returns how a file writes this value of `settings`, so that it follows the same variables: what remember_written()
/// was told of it, else its escaped text. Any thread.
Value as_written(const Settings& settings, const std::string& key);
/// The value of `settings`, as it is now, was written as `text`. Remembered by its place, key and value for the whole
/// process, since settings are copied from table to table, and to other configurations.
void remember_written(const Settings& settings, const std::string& key, const Value& text);

}  // namespace flowtrain
