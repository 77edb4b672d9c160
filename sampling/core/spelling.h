#pragma once
// Finds what somebody may have meant by a name that does not exist.

#include <span>
#include <string>

namespace flowtrain {

/// Returns the nearest candidate by spelling (nearest() in settings.h), or else the one that shares most words with
/// `word`: "grace" and "grace_seconds", "keep_mb" and "cache_mb". Empty if there is none.
std::string similar(const std::string& word, std::span<const std::string> candidates);

}  // namespace flowtrain
