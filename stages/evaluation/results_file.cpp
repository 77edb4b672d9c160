#include "stages/evaluation/results_file.h"

#include <array>
#include <charconv>
#include <sstream>
#include <string_view>

namespace flowtrain {
namespace {

// In the fewest digits that give it back.
std::string_view shortest(double value, std::span<char, 32> digits) {
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

void write(std::ostream& out, const FoundObject& found) {
  std::array<char, 32> digits;
  out << R"({"image_id":)" << found.image_id << R"(,"category_id":)" << found.category_id << R"(,"bbox":)";
  char before = '[';
  for (const double value : {found.x, found.y, found.width, found.height}) {
    out << before << shortest(value, digits);
    before = ',';
  }
  out << R"(],"score":)" << shortest(found.score, digits) << '}';
}

}  // namespace

std::string results_text(std::span<const FoundObject> detections) {
  std::ostringstream out;
  out << '[';
  for (const auto& found : detections) {
    if (&found != &detections.front()) out << ",\n";
    write(out, found);
  }
  out << "]\n";
  return std::move(out).str();
}

}  // namespace flowtrain
