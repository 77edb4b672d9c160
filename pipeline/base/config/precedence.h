#pragma once
// Values of a configuration that exclude each other.

#include <string>
#include <utility>

#include "pipeline/base/config/document.h"

namespace flowtrain {

/// Splits "lr.warmup.mode" into {"lr.warmup", "mode"}; "name" into {"", "name"}.
std::pair<std::string, std::string> split_key(const std::string& key);

/// Returns whether [data.test] has keys.
bool has_test_data(const Document& document);

/// Keeps the values of the later source among those that exclude each other: run.max_iter and run.max_epochs, [lr] and
/// [[schedule]], [data] and [[data.source]], net.package and net.name. Throws UserError(usage), with both places, where
/// one source has both.
void settle_precedence(Document& document);

}  // namespace flowtrain
