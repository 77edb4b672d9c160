#pragma once
// Values of a configuration that exclude each other.

#include <string>
#include <utility>

#include "pipeline/base/config/document.h"

namespace flowtrain {

/// "lr.warmup.mode" → {"lr.warmup", "mode"}; "name" → {"", "name"}.
std::pair<std::string, std::string> split_key(const std::string& key);

/// Whether [data.test] says anything.
bool has_test_data(const Document& document);

/// Keeps the values of the later source among those that exclude each other: run.max_iter and run.max_epochs, [lr] and
/// [[schedule]], [data] and [[data.source]], net.package and net.name. Throws UserError(usage), with both places, where
/// one source has both.
void settle_precedence(Document& document);

}  // namespace flowtrain
