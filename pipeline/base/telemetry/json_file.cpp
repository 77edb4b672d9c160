#include "pipeline/base/telemetry/json_file.h"

#include <algorithm>
#include <fstream>

#include "pipeline/base/telemetry/json_text.h"

namespace flowtrain {

using nlohmann::ordered_json;

std::string text_of_file(const std::filesystem::path& file, std::size_t most) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {};
  const auto size = std::filesystem::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  if (error || !in) return {};
  std::string text(static_cast<std::size_t>(std::min<std::uintmax_t>(size, most)), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

ordered_json json_of_file(const std::filesystem::path& file, std::size_t most) {
  auto json = parse_json(text_of_file(file, most));
  return json.is_discarded() ? ordered_json() : json;
}

const ordered_json& member_of(const ordered_json& json, const char* key) {
  static const ordered_json none;
  if (!json.is_object()) return none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

}  // namespace flowtrain
