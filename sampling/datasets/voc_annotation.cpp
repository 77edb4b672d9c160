#include "sampling/datasets/voc_annotation.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <pugixml.hpp>

#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/utf8.h"
#include "sampling/io/encoding.h"

namespace flowtrain {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what,
                       const char* hint = "repair the annotation, or remove the image from the split's list") {
  throw UserError(ExitCode::data, path + ": " + what, hint);
}

/// Returns the `encoding` in the XML's first line, <?xml … encoding="…"?>; empty if it is not given.
std::string declared_encoding(std::string_view xml) {
  if (!xml.starts_with("<?xml")) return {};
  const auto line = xml.substr(0, xml.find("?>"));
  const auto key = line.find("encoding");
  const auto begin = key == line.npos ? line.npos : line.find_first_of("\"'", key);
  if (begin == line.npos) return {};
  const auto value = line.substr(begin + 1);
  return std::string(value.substr(0, value.find(line[begin])));
}

/// Returns the XML in UTF-8, if its first line names another encoding; nothing if it is already in UTF-8, or in UTF-16,
/// whose first line cannot be read here: pugixml recognises that by the first bytes.
std::optional<std::string> converted(std::string_view xml, const std::string& path) {
  const auto encoding = declared_encoding(xml);
  const auto lower = lower_case(encoding);
  // Some tools declare the encoding that the text had in memory.
  if (lower.empty() || lower == "utf-8" || lower == "utf8" || lower.starts_with("utf-16")) return {};
  auto text = in_utf8(xml, encoding);
  if (!text) fail(path, "it is not in the encoding that it declares, '" + encoding + "'", "save it as UTF-8");
  return text;
}

/// Returns the text in a node's child, which comments and CDATA may divide, without blanks around it.
std::string text_in(const pugi::xml_node& node, const char* child) {
  std::string text;
  for (const auto part : node.child(child)) text += part.value();
  return std::string(trimmed(text));
}

/// Returns the number in a node's child, maybe a fraction. Numbers from 10^7 on, far outside any image, are refused.
float number(const pugi::xml_node& node, const char* child, const std::string& path) {
  const auto text = text_in(node, child);
  const auto value = parse_number<double>(text.starts_with('+') ? text.substr(1) : text);
  if (!value || !(std::abs(*value) < 1e7))
    fail(path,
         std::string("<") + child + "> at byte " + std::to_string(node.offset_debug()) + " is missing or no number");
  return static_cast<float>(*value);
}

/// Returns the image's width or height; 0 if it is not given.
float side(const pugi::xml_node& size, const char* child, const std::string& path) {
  return text_in(size, child).empty() ? 0 : std::max(0.0f, number(size, child, path));
}

VocObject read_object(const pugi::xml_node& node, const std::string& path) {
  const auto bounds = node.child("bndbox");
  VocObject object{text_in(node, "name"), text_in(node, "difficult") == "1"};
  const auto place = [&] { return std::to_string(node.offset_debug()); };
  if (object.name.empty() || !bounds) fail(path, "the <object> at byte " + place() + " has no name or no bndbox");
  if (as_utf8(object.name) != object.name)
    fail(path, "the name of the <object> at byte " + place() + " is not UTF-8",
         "name the encoding in the file's first line, such as <?xml version=\"1.0\" encoding=\"windows-1252\"?>");
  object.box = {number(bounds, "xmin", path), number(bounds, "ymin", path), number(bounds, "xmax", path),
                number(bounds, "ymax", path), -1};
  return object;
}

}  // namespace

VocAnnotation parse_voc(std::span<const std::byte> xml, const std::string& path) {
  if (xml.size() > max_voc_annotation_bytes) fail(path, "the annotation is larger than 1 MiB");
  pugi::xml_document document;
  const auto text = converted({reinterpret_cast<const char*>(xml.data()), xml.size()}, path);
  const auto parsed = text ? document.load_buffer(text->data(), text->size(), pugi::parse_default, pugi::encoding_utf8)
                           : document.load_buffer(xml.data(), xml.size());
  if (!parsed) fail(path, "malformed XML at byte " + std::to_string(parsed.offset) + ": " + parsed.description());
  const auto root = document.child("annotation");
  if (!root) fail(path, "it has no <annotation>");

  VocAnnotation out;
  if (const auto size = root.child("size")) {
    out.width = side(size, "width", path);
    out.height = side(size, "height", path);
  }
  for (const auto node : root.children("object")) {
    auto object = read_object(node, path);
    auto& box = object.box;
    // Equal corners would make one pixel, but nobody draws that: it is a click without a drag.
    if (box.x0 < box.x1 && box.y0 < box.y1) --box.x0, --box.y0;
    if (!out.odd.keeps(box, out.width, out.height)) continue;
    box.x0 = std::max(0.0f, box.x0);
    box.y0 = std::max(0.0f, box.y0);
    if (out.width > 0) box.x1 = std::min(box.x1, out.width);
    if (out.height > 0) box.y1 = std::min(box.y1, out.height);
    out.objects.push_back(std::move(object));
  }
  return out;
}

}  // namespace flowtrain
