#include "stages/evaluation/results_file.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <sstream>
#include <string_view>

namespace flowtrain {
namespace {

// Writes the fewest digits that read back to the same value.
std::string_view shortest(double value, std::span<char, 32> digits) {
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

std::string id_text(std::int64_t id, const CocoTextIds& text_ids) {
  const auto found = text_ids.find(id);
  if (found == text_ids.end()) return std::to_string(id);
  std::string text = "\"";
  for (const char c : found->second) {
    std::array<char, 8> code;
    std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned char>(c));
    text += c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? code.data() : std::string(1, c);
  }
  return text + '"';
}

void write(std::ostream& out, const FoundObject& found, const CocoTextIds& text_ids) {
  std::array<char, 32> digits;
  out << R"({"image_id":)" << id_text(found.image_id, text_ids) << R"(,"category_id":)"
      << id_text(found.category_id, text_ids) << R"(,"bbox":)";
  char before = '[';
  for (const double value : {found.x, found.y, found.width, found.height}) {
    out << before << shortest(value, digits);
    before = ',';
  }
  out << R"(],"score":)" << shortest(found.score, digits) << '}';
}

}  // namespace

std::string results_text(std::span<const FoundObject> detections, const CocoTextIds& text_ids) {
  std::ostringstream out;
  out << '[';
  for (const auto& found : detections) {
    if (&found != &detections.front()) out << ",\n";
    write(out, found, text_ids);
  }
  out << "]\n";
  return std::move(out).str();
}

}  // namespace flowtrain
