#include "stages/evaluation/results_file.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

#include "sampling/core/error.h"

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

void write_results(const std::filesystem::path& path, std::span<const FoundObject> detections) {
  errno = 0;
  std::ofstream stream(path, std::ios::binary);
  stream << '[';
  for (const auto& found : detections) {
    if (&found != &detections.front()) stream << ",\n";
    write(stream, found);
  }
  stream << "]\n";
  stream.close();
  if (!stream) throw UserError(ExitCode::snapshot, path.string() + ": cannot be written: " + std::strerror(errno));
}

}  // namespace flowtrain
