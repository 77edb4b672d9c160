#include "sampling/datasets/coco_instances.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/datasets/json_rows.h"
#include "sampling/fingerprint.h"

namespace flowtrain {
namespace {

constexpr double largest_pixel = 1e7;  // far beyond any image; floats are exact up to there

/// The ids of a list with their positions, sorted.
using Places = std::vector<std::pair<std::int64_t, std::uint32_t>>;

/// The file's contents, with ids where CocoAnnotation has positions, since the lists may come in any order.
struct Reader {
  struct Link {
    std::int64_t image_id, category_id;
  };

  void take_image(const JsonRow& row) {
    enum { id, file_name, width, height };
    CocoImage image{id_in(row, id), 0, 0};
    if (row.has(width)) image.width = row.real(width);
    if (row.has(height)) image.height = row.real(height);
    if (!(image.width >= 0 && image.width < largest_pixel && image.height >= 0 && image.height < largest_pixel))
      row.fail("the width or height is not a valid number of pixels");
    if (trimmed(row.text(file_name)).empty()) row.fail("'file_name' is empty");
    out.file_names.add(row.text(file_name));
    out.images.push_back(image);
  }

  void take_category(const JsonRow& row) {
    enum { id, name };
    out.categories.push_back({id_in(row, id), std::string(trimmed(row.text(name)))});
  }

  void take_annotation(const JsonRow& row) {
    enum { id, image_id, category_id, bbox, area, iscrowd };
    const auto [x, y, width, height] = row.box(bbox);
    for (const double value : {x, y, width, height})
      if (!(value > -largest_pixel && value < largest_pixel)) row.fail("'bbox' is far outside of any image");
    const double outline = row.has(area) ? row.real(area) : width * height;
    const bool crowd = row.has(iscrowd) && row.flag(iscrowd);
    out.annotations.push_back({number_in(row, id), 0, 0, x, y, width, height, outline, crowd});
    links.push_back({id_in(row, image_id, false), id_in(row, category_id, false)});
  }

  /// Returns an id, or the number that represents its text.
  static std::int64_t number_in(const JsonRow& row, std::size_t key) {
    if (!row.is_text(key)) return row.integer(key);
    const auto& text = row.text(key);
    const auto number = parse_number<std::int64_t>(text);
    if (number && std::to_string(*number) == text) return *number;
    return static_cast<std::int64_t>(fingerprint_of(text) | std::uint64_t{1} << 63);
  }

  /// Returns number_in() of an image's or a category's id. Keeps the id's text in its own row, and for messages.
  std::int64_t id_in(const JsonRow& row, std::size_t key, bool is_own = true) {
    const auto number = number_in(row, key);
    if (row.is_text(key) && (is_own || number < 0)) out.text_ids[number] = row.text(key);
    return number;
  }

  CocoInstances out;
  std::vector<Link> links;  ///< links of the annotations
};

std::string shown(std::int64_t id, const CocoTextIds& texts) {
  const auto text = texts.find(id);
  return text == texts.end() ? std::to_string(id) : text->second;
}

template <class List>
Places places_of(const List& list, const CocoTextIds& texts, const std::string& path, const std::string& name) {
  Places places;
  for (const auto& each : list) places.emplace_back(each.id, static_cast<std::uint32_t>(places.size()));
  std::ranges::sort(places);
  const auto twice = std::ranges::adjacent_find(places, {}, &Places::value_type::first);
  if (twice != places.end()) fail_file(path, concat(name, " ", shown(twice->first, texts), ": its id occurs twice"));
  return places;
}

/// Refuses two categories of one name, of which a box would not tell which it is.
void check_names(const CocoInstances& instances, const std::string& path) {
  std::map<std::string_view, std::int64_t> ids;
  for (const auto& category : instances.categories) {
    const auto [first, is_new] = ids.try_emplace(category.name, category.id);
    if (!is_new)
      fail_file(path, concat("categories ", shown(first->second, instances.text_ids), " and ",
                             shown(category.id, instances.text_ids), " are both called '", category.name, "'"));
  }
}

/// Replaces ids by positions.
void resolve_ids(Reader& reader, const std::string& path) {
  auto& out = reader.out;
  std::ranges::sort(out.categories, {}, [&](const CocoCategory& category) {
    const auto text = category.id < 0 ? out.text_ids.find(category.id) : out.text_ids.end();
    return std::pair(text == out.text_ids.end() ? std::string() : text->second, category.id);
  });
  const auto images = places_of(out.images, out.text_ids, path, "images");
  const auto categories = places_of(out.categories, out.text_ids, path, "categories");
  places_of(out.annotations, out.text_ids, path, "annotations");
  check_names(out, path);
  for (std::size_t i = 0; i < out.annotations.size(); ++i) {
    auto& annotation = out.annotations[i];
    const auto place_of = [&](const Places& places, std::int64_t id, const char* kind) {
      const auto at = std::ranges::lower_bound(places, id, {}, &Places::value_type::first);
      if (at == places.end() || at->first != id)
        fail_file(path, concat("annotations ", annotation.id < 0 ? concat("#", i) : std::to_string(annotation.id),
                               ": no ", kind, " has the id ", shown(id, out.text_ids)));
      return at->second;
    };
    annotation.image = place_of(images, reader.links[i].image_id, "image");
    annotation.category = place_of(categories, reader.links[i].category_id, "category");
  }
}

}  // namespace

CocoInstances read_coco_instances(std::istream& stream, const std::string& path) {
  Reader reader;
  const std::vector<JsonList> lists{
      {"images", {"id", "file_name", "width", "height"}, [&](const JsonRow& row) { reader.take_image(row); }},
      {"categories", {"id", "name"}, [&](const JsonRow& row) { reader.take_category(row); }},
      {"annotations", {"id", "image_id", "category_id", "bbox", "area", "iscrowd"}, [&](const JsonRow& row) {
         reader.take_annotation(row);
       }}};
  const auto there = read_json_lists(stream, path, lists);
  for (std::size_t i = 0; i < 2; ++i)
    if (!there[i]) fail_file(path, "no list '" + lists[i].name + "': this is not a COCO instances file");
  resolve_ids(reader, path);
  return std::move(reader.out);
}

}  // namespace flowtrain
