#include "stages/evaluation/results_file.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <istream>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/datasets/json_rows.h"
#include "sampling/io/descriptor.h"

namespace flowtrain {
namespace {

template <class Number>
void append(std::string& text, Number value) {
  char digits[32];
  text.append(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
}

void append(std::string& text, const FoundObject& found) {
  append(text.append("{\"image_id\":"), found.image_id);
  append(text.append(",\"category_id\":"), found.category_id);
  text.append(",\"bbox\":");
  char before = '[';
  for (const double value : {found.x, found.y, found.width, found.height}) {
    append(text.append(1, before), value);
    before = ',';
  }
  append(text.append("],\"score\":"), found.score);
  text.append("}");
}

FoundObject detection_of(const JsonRow& row) {
  enum { image_id, category_id, bbox, score };
  const auto [x, y, width, height] = row.box(bbox);
  if (width < 0 || height < 0) row.fail("'bbox' has a negative width or height");
  return {row.integer(image_id), row.integer(category_id), x, y, width, height, row.real(score)};
}

Descriptor open_file(const std::filesystem::path& path) {
  try {
    return Descriptor::file(path.c_str());
  } catch (const std::system_error& error) {
    throw UserError(ExitCode::data, path.string() + ": " + error.code().message());
  }
}

}  // namespace

void write_results(const std::filesystem::path& path, std::span<const FoundObject> detections) {
  errno = 0;
  std::ofstream stream(path, std::ios::binary);
  std::string line = "[";
  for (const auto& found : detections) {
    append(line, found);
    if (&found != &detections.back()) line += ",\n";
    stream << line;
    line.clear();
  }
  stream << line << "]\n";
  stream.close();
  if (!stream) throw UserError(ExitCode::snapshot, path.string() + ": cannot be written: " + std::strerror(errno));
}

std::vector<FoundObject> read_results(const std::filesystem::path& path) {
  std::vector<FoundObject> detections;
  const auto file = open_file(path);
  FileBuffer buffer(file, 0, file.size_bytes(), path.string());
  std::istream stream(&buffer);
  read_json_lists(stream, path.string(), {{"", {"image_id", "category_id", "bbox", "score"}, [&](const JsonRow& row) {
                                             detections.push_back(detection_of(row));
                                           }}});
  return detections;
}

}  // namespace flowtrain
