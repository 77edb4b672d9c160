#include "sampling/datasets/voc_annotation.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <pugixml.hpp>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"

namespace flowtrain {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw UserError(ExitCode::data, path + ": " + what, "mend the annotation, or take the picture off the split's list");
}

/// The number in a node's child; some tools write fractions. Far beyond any picture, and so no number, is 10^7.
float number(const pugi::xml_node& node, const char* child, const std::string& path) {
  const auto value = parse_number<double>(trimmed(node.child_value(child), " \t\r\n"));
  if (!value || !(std::abs(*value) < 1e7))
    fail(path,
         std::string("<") + child + "> at byte " + std::to_string(node.offset_debug()) + " is missing or no number");
  return static_cast<float>(*value);
}

}  // namespace

VocAnnotation parse_voc(std::span<const std::byte> xml, const std::string& path) {
  if (xml.size() > max_voc_annotation_bytes) fail(path, "larger than an annotation may be (1 MiB)");
  pugi::xml_document document;
  const auto parsed = document.load_buffer(xml.data(), xml.size());
  if (!parsed) fail(path, "malformed XML at byte " + std::to_string(parsed.offset) + ": " + parsed.description());
  const auto root = document.child("annotation");
  if (!root) fail(path, "no <annotation> in it");

  VocAnnotation out;
  if (const auto size = root.child("size")) {
    out.width = std::max(0.0f, number(size, "width", path));
    out.height = std::max(0.0f, number(size, "height", path));
  }
  for (const auto node : root.children("object")) {
    const auto bounds = node.child("bndbox");
    VocObject object{node.child_value("name"), std::string_view(node.child_value("difficult")) == "1"};
    if (object.name.empty() || !bounds)
      fail(path, "the <object> at byte " + std::to_string(node.offset_debug()) + " has no name or no bndbox");
    const float xmin = number(bounds, "xmin", path), ymin = number(bounds, "ymin", path);
    const float xmax = number(bounds, "xmax", path), ymax = number(bounds, "ymax", path);
    auto& box = object.box;
    box = {std::max(0.0f, xmin - 1), std::max(0.0f, ymin - 1), xmax, ymax, -1};
    if (out.width > 0) box.x1 = std::min(box.x1, out.width);
    if (out.height > 0) box.y1 = std::min(box.y1, out.height);
    // Equal corners would make one pixel, but nobody draws that: it is a click without a drag.
    const bool has_area = xmin < xmax && ymin < ymax && box.x0 < box.x1 && box.y0 < box.y1;
    if (has_area)
      out.objects.push_back(std::move(object));
    else
      ++out.without_area;
  }
  return out;
}

}  // namespace flowtrain
