#pragma once
// JSON as text and as bytes, whatever its strings hold: paths and names need not be UTF-8.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sampling/core/json_depth.h"

namespace flowtrain {

/// Writes JSON, with U+FFFD in the place of bytes that are not UTF-8. `indent`: -1 for a single line.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// Parses JSON that others wrote. Returns a discarded value for a text that is none, and for one that is nested deeper
/// than deepest_json.
template <class Json = nlohmann::ordered_json>
Json parse_json(std::string_view text) {
  if (is_nested_too_deep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

/// Packs JSON for another process of the program; unpacked_json() gives the same bytes back.
inline std::string packed_json(const nlohmann::json& json) {
  std::string bytes;
  nlohmann::json::to_msgpack(json, bytes);
  return bytes;
}

inline nlohmann::json unpacked_json(const std::string& bytes) { return nlohmann::json::from_msgpack(bytes); }

}  // namespace flowtrain
