#pragma once
// The small files of a run's folder, and members of their JSON. Missing, damaged or mistyped values read as nothing.

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

namespace flowtrain {

/// Returns the file's text, at most `most` bytes; empty if it is no regular file or cannot be read.
std::string text_of_file(const std::filesystem::path& file, std::size_t most = 4 << 20);
/// Returns the JSON (parse_json()) of a file of at most `most` bytes, or null.
nlohmann::ordered_json json_of_file(const std::filesystem::path& file, std::size_t most = 4 << 20);

/// Returns the member `key` of an object; null if there is none, or `json` is no object.
const nlohmann::ordered_json& member_of(const nlohmann::ordered_json& json, const char* key);

inline std::optional<std::string> text_in(const nlohmann::ordered_json& json, const char* key) {
  const auto& member = member_of(json, key);
  return member.is_string() ? std::optional(member.get<std::string>()) : std::nullopt;
}

/// Returns any finite number as a double, and a whole number that is not negative as an unsigned integer.
template <class Number>
std::optional<Number> number_in(const nlohmann::ordered_json& json, const char* key) {
  const auto& member = member_of(json, key);
  if constexpr (std::is_unsigned_v<Number>) {
    return member.is_number_unsigned() ? std::optional(member.get<Number>()) : std::nullopt;
  } else {
    return member.is_number() && std::isfinite(member.get<Number>()) ? std::optional(member.get<Number>())
                                                                     : std::nullopt;
  }
}

}  // namespace flowtrain
